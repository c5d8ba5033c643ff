-- trials: one row for each planned trial, however far it came; ordered by its position in the plan.
-- reads: trial.queued, trial.finished
-- needs: plan, run, starts, tries, scores
--
-- trial, position            null where the run died before the trial was queued
-- harness, harness_digest, task, task_digest, scorer_digest, attempt, seed
-- state                      finished; running or interrupted (started, not finished); waiting or not_started
-- result                     the one class it is counted in: passed, failed, or why it has no counted score
-- outcome, reason            how it ended; null unless finished
-- scored                     the scorer's word counts
-- reward                     in [0, 1]; null unless scored
-- score_status, score, score_reason, reward_name   the scorer's word, shown also where it does not count
-- try_no, tries              the try that counts, and how many were started
-- flags, limit_fired, phases, limits, not_enforced, why_not_enforced   JSON; limit_fired is null where no limit ended it
-- exit_code, exit_signal
-- duration_ns, agent_ns      whole trial (last try), harness process alone; monotonic clock
-- input_tokens … first_token_ns, tool_calls, messages   of the try that counts, as in table tries; calls are null
--                            where the kind of harness cannot tell them (`command` tells no tool calls), and
--                            those by kind where no call passes the gateway
-- cost_partial, usage_partial   cost_usd, the tokens are lower bounds: some of it was not told
-- told_usd, priced_usd, unpriced_calls, replayed_calls, replayed_usd   see table tries
-- first_seq, last_seq        events of the try that counts: last_seq is its trial.finished
WITH queued AS (
    SELECT * FROM (
        SELECT *, row_number() OVER (PARTITION BY trial ORDER BY seq) AS nth
        FROM events
        WHERE type = 'trial.queued'
    ) WHERE nth = 1
),
planned AS (
    SELECT
        q.trial,
        CAST(q.data ->> '$.position' AS BIGINT) AS position,
        CAST(q.data ->> '$.seed' AS HUGEINT) AS seed,
        coalesce(q.data ->> '$.harness', p.harness) AS harness,
        coalesce(q.data ->> '$.harness_digest', p.harness_digest) AS harness_digest,
        coalesce(q.data ->> '$.task', p.task) AS task,
        coalesce(q.data ->> '$.task_digest', p.task_digest) AS task_digest,
        coalesce(q.data ->> '$.scorer_digest', p.scorer_digest) AS scorer_digest,
        coalesce(CAST(q.data ->> '$.attempt' AS BIGINT), p.attempt) AS attempt,
        p.harness_kind,
        p.served,
        p.harness_no,
        p.task_no
    FROM plan AS p
    FULL OUTER JOIN queued AS q
        ON q.data ->> '$.harness' = p.harness
        AND q.data ->> '$.task' = p.task
        AND CAST(q.data ->> '$.attempt' AS BIGINT) = p.attempt
),
finished AS (
    SELECT f.* FROM (
        SELECT seq, trial, data, row_number() OVER (PARTITION BY trial ORDER BY seq DESC) AS newest
        FROM events
        WHERE type = 'trial.finished'
    ) AS f
    LEFT JOIN starts AS s ON s.trial = f.trial AND s.next_seq IS NULL
    -- A trial that was started again after it had finished (cancelled, then resumed) has not finished.
    WHERE f.newest = 1 AND (s.first_seq IS NULL OR f.seq > s.first_seq)
),
joined AS (
    SELECT
        p.*,
        t.try_no,
        (SELECT count(*) FROM starts AS s WHERE s.trial = p.trial) AS tries,
        t.first_seq,
        f.seq AS last_seq,
        s.limits,
        s.not_enforced,
        s.why_not_enforced,
        f.data,
        f.data ->> '$.outcome' AS outcome,
        coalesce(w.status, f.data ->> '$.score_status') AS score_status,
        coalesce(w.score, TRY_CAST(f.data ->> '$.reward' AS DOUBLE)) AS score,
        w.reason AS score_reason,
        w.reward_name,
        coalesce(w.scorer_digest, p.scorer_digest) AS used_scorer_digest,
        f.seq IS NOT NULL
            AND coalesce(CAST(f.data ->> '$.scored' AS BOOLEAN), false)
            AND f.data ->> '$.reward' IS NOT NULL AS scored,
        t.agent_ns, t.input_tokens, t.cache_read_tokens, t.cache_write_tokens, t.output_tokens,
        t.reasoning_tokens, t.cost_usd,
        t.cost_usd IS NOT NULL AND (t.cost_partial OR list_contains(
            CAST(f.data -> '$.flags' AS VARCHAR[]), 'cost_partial')) AS cost_partial,
        t.usage_partial OR list_contains(CAST(f.data -> '$.flags' AS VARCHAR[]), 'usage_partial')
            AS usage_partial,
        t.told_usd, t.priced_usd, t.failed_input_tokens, t.failed_output_tokens, t.unpriced_calls,
        t.replayed_calls, t.replayed_usd, t.model_ns, t.first_token_ns,
        -- Nothing recorded means nothing done only where the kind of harness tells what it does.
        CASE WHEN t.model_calls > 0 OR p.served OR p.harness_kind IN ('oracle', 'nop') THEN t.model_calls END
            AS model_calls,
        CASE WHEN t.first_seq IS NOT NULL AND p.served THEN coalesce(t.turn_calls, 0) ELSE t.turn_calls END
            AS turn_calls,
        CASE WHEN t.first_seq IS NOT NULL AND p.served THEN coalesce(t.side_calls, 0) ELSE t.side_calls END
            AS side_calls,
        CASE WHEN t.first_seq IS NOT NULL AND p.served THEN coalesce(t.failed_calls, 0) ELSE t.failed_calls END
            AS failed_calls,
        CASE WHEN t.first_seq IS NOT NULL AND p.served THEN coalesce(t.retry_calls, 0) ELSE t.retry_calls END
            AS retry_calls,
        CASE WHEN t.first_seq IS NOT NULL AND p.served THEN coalesce(t.refused_calls, 0) ELSE t.refused_calls END
            AS refused_calls,
        CASE WHEN t.tool_calls > 0 OR p.served OR p.harness_kind <> 'command' THEN t.tool_calls END AS tool_calls,
        t.messages,
        CASE
            WHEN f.seq IS NOT NULL THEN 'finished'
            WHEN t.first_seq IS NOT NULL
                THEN CASE run.status WHEN 'running' THEN 'running' ELSE 'interrupted' END
            ELSE CASE run.status WHEN 'running' THEN 'waiting' ELSE 'not_started' END
        END AS state
    FROM planned AS p
    CROSS JOIN run
    LEFT JOIN tries AS t ON t.trial = p.trial AND t.latest
    LEFT JOIN starts AS s ON s.first_seq = t.first_seq
    LEFT JOIN finished AS f ON f.trial = p.trial
    LEFT JOIN scores AS w ON w.seq = t.score_seq
)
SELECT
    trial,
    position,
    harness,
    harness_digest,
    task,
    task_digest,
    used_scorer_digest AS scorer_digest,
    attempt,
    seed,
    state,
    CASE
        WHEN scored THEN
            CASE WHEN coalesce(score_status = 'PASS', score >= 1) THEN 'passed' ELSE 'failed' END
        WHEN state <> 'finished' THEN state
        WHEN outcome NOT IN (
            'completed', 'timeout', 'turn_limit', 'budget_exceeded', 'output_limit', 'out_of_memory',
            'harness_error'
        ) THEN outcome
        WHEN score_status = 'VERIFIER_ERROR' THEN 'verifier_error'
        WHEN score_status = 'SKIPPED' THEN 'skipped'
        ELSE 'no_score'
    END AS result,
    outcome,
    data ->> '$.reason' AS reason,
    scored,
    CASE WHEN scored THEN TRY_CAST(data ->> '$.reward' AS DOUBLE) END AS reward,
    reward_name,
    score_status,
    score,
    score_reason,
    coalesce(CAST(data ->> '$.try_no' AS BIGINT), try_no) AS try_no,
    tries,
    data -> '$.flags' AS flags,
    data -> '$.limit' AS limit_fired,
    CAST(data ->> '$.exit_code' AS BIGINT) AS exit_code,
    CAST(data ->> '$.exit_signal' AS BIGINT) AS exit_signal,
    CAST(data ->> '$.duration_ns' AS BIGINT) AS duration_ns,
    agent_ns,
    data -> '$.phases' AS phases,
    limits,
    not_enforced,
    why_not_enforced,
    input_tokens,
    cache_read_tokens,
    cache_write_tokens,
    output_tokens,
    reasoning_tokens,
    cost_usd,
    coalesce(cost_partial, false) AS cost_partial,
    coalesce(usage_partial, false) AS usage_partial,
    told_usd,
    priced_usd,
    unpriced_calls,
    replayed_calls,
    replayed_usd,
    failed_input_tokens,
    failed_output_tokens,
    model_calls,
    turn_calls,
    side_calls,
    failed_calls,
    retry_calls,
    refused_calls,
    model_ns,
    first_token_ns,
    tool_calls,
    messages,
    first_seq,
    last_seq
FROM joined
ORDER BY position NULLS LAST, harness_no, task_no, attempt
