-- tries: one row for each try of a trial: the one that counts, and those that were superseded.
-- reads: trial.retried, trial.finished, harness.exited
-- counts: tool.called, message.recorded
-- needs: starts, usage, model_waits, scores
--
-- trial, try_no
-- first_seq, last_seq        its events; last_seq is null while it is the trial's last try
-- latest                     no later try of this trial has started
-- state                      finished, retried, or open (started, and neither)
-- outcome, reason            null while open
-- duration_ns, agent_ns      whole try, harness process alone; null = not known
-- input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens, cost_usd
--                            the sum over the calls that passed the gateway, where any did; else the harness's own
--                            total where it gave one, else the sum over the answers that it told of; null = unknown
-- cost_partial, usage_partial   cost_usd, the tokens are lower bounds: some answers had no price, told no tokens
-- told_usd, priced_usd       cost_usd by the word of provider or harness, and by the price table: two accounts of
--                            the same calls, of which each may lack some
-- failed_input_tokens, failed_output_tokens   of calls that brought no whole answer; their cost is in cost_usd
-- unpriced_calls             calls that may have cost something, and nobody knows what
-- replayed_calls, replayed_usd   calls that a cassette answered, and what they would have cost; not in cost_usd
-- model_calls                calls to models, turns and side calls
-- turn_calls, side_calls, failed_calls, retry_calls, refused_calls   of those that passed the gateway: failed ones and
--                            those that repeat one are of both kinds
-- model_ns                   time during which a call was open
-- first_token_ns             median over whole answers
-- tool_calls, messages       how many were recorded
-- score_seq                  the scorer's last word on this try
WITH ends AS (
    SELECT
        s.first_seq,
        e.type,
        e.data,
        TRY_CAST(e.data ->> '$.usage.input_tokens' AS HUGEINT) AS input_tokens,
        TRY_CAST(e.data ->> '$.usage.cache_read_tokens' AS HUGEINT) AS cache_read_tokens,
        TRY_CAST(e.data ->> '$.usage.cache_write_tokens' AS HUGEINT) AS cache_write_tokens,
        TRY_CAST(e.data ->> '$.usage.output_tokens' AS HUGEINT) AS output_tokens,
        TRY_CAST(e.data ->> '$.usage.reasoning_tokens' AS HUGEINT) AS reasoning_tokens,
        CASE WHEN TRY_CAST(e.data ->> '$.usage.cost_usd' AS DOUBLE) BETWEEN 0 AND 1e9
            THEN TRY_CAST(e.data ->> '$.usage.cost_usd' AS DOUBLE) END AS cost_usd,
        row_number() OVER (PARTITION BY s.first_seq ORDER BY e.seq DESC) AS newest
    FROM starts AS s
    JOIN events AS e
        ON e.trial = s.trial AND e.seq > s.first_seq AND (s.next_seq IS NULL OR e.seq < s.next_seq)
    WHERE e.type IN ('trial.finished', 'trial.retried')
),
exits AS (
    SELECT s.first_seq, max(CAST(e.data ->> '$.duration_ns' AS BIGINT)) AS agent_ns
    FROM starts AS s
    JOIN events AS e
        ON e.trial = s.trial AND e.seq > s.first_seq AND (s.next_seq IS NULL OR e.seq < s.next_seq)
    WHERE e.type = 'harness.exited'
    GROUP BY s.first_seq
),
counts AS (
    SELECT
        s.first_seq,
        count(*) FILTER (e.type = 'tool.called') AS tool_calls,
        count(*) FILTER (e.type = 'message.recorded') AS messages
    FROM starts AS s
    JOIN events AS e
        ON e.trial = s.trial AND e.seq > s.first_seq AND (s.next_seq IS NULL OR e.seq < s.next_seq)
    WHERE e.type IN ('tool.called', 'message.recorded')
    GROUP BY s.first_seq
),
told AS (
    SELECT
        first_seq,
        count(*) AS answers,
        count(call) > 0 AS gateway,
        sum(input_tokens) FILTER (whole) AS input_tokens,
        sum(cache_read_tokens) FILTER (whole) AS cache_read_tokens,
        sum(cache_write_tokens) FILTER (whole) AS cache_write_tokens,
        sum(output_tokens) FILTER (whole) AS output_tokens,
        sum(reasoning_tokens) FILTER (whole) AS reasoning_tokens,
        sum(input_tokens) FILTER (NOT whole) AS failed_input_tokens,
        sum(output_tokens) FILTER (NOT whole) AS failed_output_tokens,
        fsum(cost_usd ORDER BY seq) FILTER (NOT replayed) AS cost_usd,
        fsum(told_usd ORDER BY seq) FILTER (NOT replayed) AS told_usd,
        fsum(priced_usd ORDER BY seq) FILTER (NOT replayed) AS priced_usd,
        fsum(cost_usd ORDER BY seq) FILTER (replayed) AS replayed_usd,
        count(*) FILTER (unpriced) AS unpriced_calls,
        count(*) FILTER (replayed) AS replayed_calls,
        count(*) FILTER (whole AND call IS NOT NULL AND (input_tokens IS NULL OR output_tokens IS NULL)) AS untold
    FROM usage
    WHERE first_seq IS NOT NULL
    GROUP BY first_seq
),
words AS (
    SELECT s.first_seq, max(w.seq) AS score_seq
    FROM starts AS s
    JOIN scores AS w
        ON w.trial = s.trial AND w.seq > s.first_seq AND (s.next_seq IS NULL OR w.seq < s.next_seq)
    GROUP BY s.first_seq
)
SELECT
    s.trial,
    s.try_no,
    s.first_seq,
    s.next_seq - 1 AS last_seq,
    s.next_seq IS NULL AS latest,
    CASE ends.type
        WHEN 'trial.finished' THEN 'finished'
        WHEN 'trial.retried' THEN 'retried'
        ELSE 'open'
    END AS state,
    ends.data ->> '$.outcome' AS outcome,
    ends.data ->> '$.reason' AS reason,
    CAST(ends.data ->> '$.duration_ns' AS BIGINT) AS duration_ns,
    coalesce(CAST(ends.data ->> '$.agent_ns' AS BIGINT), exits.agent_ns) AS agent_ns,
    CASE WHEN told.gateway THEN told.input_tokens
        ELSE coalesce(ends.input_tokens, told.input_tokens) END AS input_tokens,
    CASE WHEN told.gateway THEN told.cache_read_tokens
        ELSE coalesce(ends.cache_read_tokens, told.cache_read_tokens) END AS cache_read_tokens,
    CASE WHEN told.gateway THEN told.cache_write_tokens
        ELSE coalesce(ends.cache_write_tokens, told.cache_write_tokens) END AS cache_write_tokens,
    CASE WHEN told.gateway THEN told.output_tokens
        ELSE coalesce(ends.output_tokens, told.output_tokens) END AS output_tokens,
    CASE WHEN told.gateway THEN told.reasoning_tokens
        ELSE coalesce(ends.reasoning_tokens, told.reasoning_tokens) END AS reasoning_tokens,
    CASE WHEN told.gateway THEN told.cost_usd ELSE coalesce(ends.cost_usd, told.cost_usd) END AS cost_usd,
    told.cost_usd IS NOT NULL AND told.unpriced_calls > 0 AND (told.gateway OR ends.cost_usd IS NULL)
        AS cost_partial,
    coalesce(told.gateway AND told.untold > 0 AND told.input_tokens IS NOT NULL, false) AS usage_partial,
    CASE WHEN told.gateway THEN told.told_usd ELSE coalesce(ends.cost_usd, told.told_usd) END AS told_usd,
    told.priced_usd,
    told.failed_input_tokens,
    told.failed_output_tokens,
    coalesce(told.unpriced_calls, 0) AS unpriced_calls,
    coalesce(told.replayed_calls, 0) AS replayed_calls,
    told.replayed_usd,
    coalesce(waits.turn_calls + waits.side_calls, told.answers, 0) AS model_calls,
    waits.turn_calls,
    waits.side_calls,
    waits.failed_calls,
    waits.retry_calls,
    waits.refused_calls,
    waits.model_ns,
    waits.first_token_ns,
    coalesce(counts.tool_calls, 0) AS tool_calls,
    coalesce(counts.messages, 0) AS messages,
    words.score_seq
FROM starts AS s
LEFT JOIN ends ON ends.first_seq = s.first_seq AND ends.newest = 1
LEFT JOIN exits ON exits.first_seq = s.first_seq
LEFT JOIN counts ON counts.first_seq = s.first_seq
LEFT JOIN told ON told.first_seq = s.first_seq
LEFT JOIN model_waits AS waits ON waits.first_seq = s.first_seq
LEFT JOIN words ON words.first_seq = s.first_seq
ORDER BY s.first_seq
