-- harness: one row for each harness of the plan.
-- needs: plan, trials
--
-- harness_no, harness, kind, version, digest, model
-- planned, finished, scored, passed        trials
-- served                     its calls of a model pass the gateway
-- agent_median_ns, agent_p90_ns   harness process, linear quantiles over agent_measured trials
-- started                    trials that were started at least once
-- tool_calls, model_calls    of the tries that count; null where no trial's kind of harness tells them, and
--                            for tool calls where no word of any conversation was recorded
WITH harnesses AS (
    SELECT DISTINCT harness_no, harness, harness_kind, harness_version, harness_digest, model, served FROM plan
)
SELECT
    h.harness_no,
    h.harness,
    h.harness_kind AS kind,
    h.harness_version AS version,
    h.harness_digest AS digest,
    h.model,
    h.served,
    count(*) AS planned,
    count(*) FILTER (t.tries > 0) AS started,
    count(*) FILTER (t.state = 'finished') AS finished,
    count(*) FILTER (t.scored) AS scored,
    count(*) FILTER (t.result = 'passed') AS passed,
    CAST(quantile_cont(t.agent_ns, 0.5) AS BIGINT) AS agent_median_ns,
    CAST(quantile_cont(t.agent_ns, 0.9) AS BIGINT) AS agent_p90_ns,
    count(t.agent_ns) AS agent_measured,
    -- A program that speaks the protocol and said nothing at all told nothing of its calls either.
    CASE WHEN h.harness_kind IN ('oracle', 'nop') OR h.served
        OR sum(t.messages + coalesce(t.tool_calls, 0) + coalesce(t.model_calls, 0)) > 0
        THEN CAST(sum(t.tool_calls) AS BIGINT) END AS tool_calls,
    CAST(sum(t.model_calls) AS BIGINT) AS model_calls
FROM harnesses AS h
JOIN trials AS t ON t.harness = h.harness
GROUP BY h.harness_no, h.harness, h.harness_kind, h.harness_version, h.harness_digest, h.model, h.served
ORDER BY h.harness_no
