-- harness: one row for each harness of the plan.
-- needs: plan, trials, tries
--
-- harness_no, harness, kind, version, digest, model
-- planned, finished, scored, passed        trials
-- input, cache_read, output, reasoning   tokens: sums over the trials that told; <name>_known counts those
-- cost_usd                   sum of what is known; null where no trial told
-- cost_known, cost_unknown   started trials
-- cost_partial, usage_partial   trials whose own cost, whose own tokens are a lower bound
-- agent_median_ns, agent_p90_ns   harness process, linear quantiles over agent_measured trials
-- started                    trials that were started at least once
-- tool_calls, model_calls    of the tries that count; null where no trial's kind of harness tells them, and
--                            for tool calls where no word of any conversation was recorded
-- retried                    tries that were superseded
-- retried_ns, retried_cost_usd    what is known of their time and cost
WITH superseded AS (
    SELECT
        t.harness,
        count(*) AS retried,
        CAST(sum(x.duration_ns) AS BIGINT) AS retried_ns,
        fsum(x.cost_usd ORDER BY x.first_seq) AS retried_cost_usd
    FROM tries AS x
    JOIN trials AS t ON t.trial = x.trial
    WHERE NOT x.latest
    GROUP BY t.harness
),
harnesses AS (
    SELECT DISTINCT harness_no, harness, harness_kind, harness_version, harness_digest, model FROM plan
)
SELECT
    h.harness_no,
    h.harness,
    h.harness_kind AS kind,
    h.harness_version AS version,
    h.harness_digest AS digest,
    h.model,
    count(*) AS planned,
    count(*) FILTER (t.tries > 0) AS started,
    count(*) FILTER (t.state = 'finished') AS finished,
    count(*) FILTER (t.scored) AS scored,
    count(*) FILTER (t.result = 'passed') AS passed,
    sum(t.input_tokens) AS input,
    count(t.input_tokens) AS input_known,
    sum(t.cache_read_tokens) AS cache_read,
    count(t.cache_read_tokens) AS cache_read_known,
    sum(t.output_tokens) AS output,
    count(t.output_tokens) AS output_known,
    sum(t.reasoning_tokens) AS reasoning,
    count(t.reasoning_tokens) AS reasoning_known,
    fsum(t.cost_usd ORDER BY t.position) AS cost_usd,
    count(t.cost_usd) AS cost_known,
    count(*) FILTER (t.tries > 0 AND t.cost_usd IS NULL) AS cost_unknown,
    count(*) FILTER (t.cost_partial) AS cost_partial,
    CAST(quantile_cont(t.agent_ns, 0.5) AS BIGINT) AS agent_median_ns,
    CAST(quantile_cont(t.agent_ns, 0.9) AS BIGINT) AS agent_p90_ns,
    count(t.agent_ns) AS agent_measured,
    count(*) FILTER (t.usage_partial) AS usage_partial,
    -- A program that speaks the protocol and said nothing at all told nothing of its calls either.
    CASE WHEN h.harness_kind IN ('oracle', 'nop')
        OR sum(t.messages + coalesce(t.tool_calls, 0) + coalesce(t.model_calls, 0)) > 0
        THEN CAST(sum(t.tool_calls) AS BIGINT) END AS tool_calls,
    CAST(sum(t.model_calls) AS BIGINT) AS model_calls,
    coalesce(any_value(s.retried), 0) AS retried,
    any_value(s.retried_ns) AS retried_ns,
    any_value(s.retried_cost_usd) AS retried_cost_usd
FROM harnesses AS h
JOIN trials AS t ON t.harness = h.harness
LEFT JOIN superseded AS s ON s.harness = h.harness
GROUP BY h.harness_no, h.harness, h.harness_kind, h.harness_version, h.harness_digest, h.model
ORDER BY h.harness_no
