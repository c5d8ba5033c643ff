-- tries: one row for each try of a trial: the one that counts, and those that were superseded.
-- reads: trial.retried, trial.finished, harness.exited
-- counts: tool.called, message.recorded
-- needs: starts, usage, scores
--
-- trial, try_no
-- first_seq, last_seq        its events; last_seq is null while it is the trial's last try
-- latest                     no later try of this trial has started
-- state                      finished, retried, or open (started, and neither)
-- outcome, reason            null while open
-- duration_ns, agent_ns      whole try, harness process alone; null = not known
-- input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens, cost_usd
--                            the harness's own total where it gave one, else the sum over the model's
--                            answers; null = unknown
-- cost_partial               cost_usd is a lower bound: some answers of the model had no price
-- model_calls, tool_calls, messages    how many were recorded
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
        s.first_seq,
        count(*) AS model_calls,
        sum(u.input_tokens) AS input_tokens,
        sum(u.cache_read_tokens) AS cache_read_tokens,
        sum(u.cache_write_tokens) AS cache_write_tokens,
        sum(u.output_tokens) AS output_tokens,
        sum(u.reasoning_tokens) AS reasoning_tokens,
        fsum(u.cost_usd ORDER BY u.seq) AS cost_usd,
        count(u.cost_usd) < count(*) AS unpriced
    FROM starts AS s
    JOIN usage AS u
        ON u.trial = s.trial AND u.seq > s.first_seq AND (s.next_seq IS NULL OR u.seq < s.next_seq)
    GROUP BY s.first_seq
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
    coalesce(ends.input_tokens, told.input_tokens) AS input_tokens,
    coalesce(ends.cache_read_tokens, told.cache_read_tokens) AS cache_read_tokens,
    coalesce(ends.cache_write_tokens, told.cache_write_tokens) AS cache_write_tokens,
    coalesce(ends.output_tokens, told.output_tokens) AS output_tokens,
    coalesce(ends.reasoning_tokens, told.reasoning_tokens) AS reasoning_tokens,
    coalesce(ends.cost_usd, told.cost_usd) AS cost_usd,
    ends.cost_usd IS NULL AND told.cost_usd IS NOT NULL AND told.unpriced AS cost_partial,
    coalesce(told.model_calls, 0) AS model_calls,
    coalesce(counts.tool_calls, 0) AS tool_calls,
    coalesce(counts.messages, 0) AS messages,
    words.score_seq
FROM starts AS s
LEFT JOIN ends ON ends.first_seq = s.first_seq AND ends.newest = 1
LEFT JOIN exits ON exits.first_seq = s.first_seq
LEFT JOIN counts ON counts.first_seq = s.first_seq
LEFT JOIN told ON told.first_seq = s.first_seq
LEFT JOIN words ON words.first_seq = s.first_seq
ORDER BY s.first_seq
