-- task_harness: one row for each task and harness of the plan.
-- needs: plan, trials
--
-- task_no, task, task_digest, scorer_digest, harness_no, harness
-- planned, scored, passed    trials
-- reward_sum, mean           over scored trials; null where none is scored
-- binary                     every counted reward is 0 or 1; null where none is scored
-- agent_median_ns            harness process, over trials where it was measured
-- input, cache_read, output, reasoning, cost_usd   sums of what is known; null where nothing is
-- cost_unknown               started trials without a cost, but for those that were replayed whole
-- told_usd, priced_usd, replayed_calls   as in table tries, sums
-- turn_calls, side_calls, failed_calls   sums over the trials whose calls passed the gateway
-- model_median_ns, first_token_median_ns   over the trials where they were measured
SELECT
    p.task_no,
    p.task,
    p.task_digest,
    p.scorer_digest,
    p.harness_no,
    p.harness,
    count(*) AS planned,
    count(*) FILTER (t.scored) AS scored,
    count(*) FILTER (t.result = 'passed') AS passed,
    fsum(t.reward ORDER BY t.attempt) AS reward_sum,
    fsum(t.reward ORDER BY t.attempt) / nullif(count(t.reward), 0) AS mean,
    bool_and(t.reward IN (0, 1)) AS binary,
    CAST(quantile_cont(t.agent_ns, 0.5) AS BIGINT) AS agent_median_ns,
    sum(t.input_tokens) AS input,
    sum(t.cache_read_tokens) AS cache_read,
    sum(t.output_tokens) AS output,
    sum(t.reasoning_tokens) AS reasoning,
    fsum(t.cost_usd ORDER BY t.attempt) AS cost_usd,
    count(*) FILTER (t.tries > 0 AND t.cost_usd IS NULL AND (t.replayed_calls = 0 OR t.unpriced_calls > 0))
        AS cost_unknown,
    fsum(t.told_usd ORDER BY t.attempt) AS told_usd,
    fsum(t.priced_usd ORDER BY t.attempt) AS priced_usd,
    CAST(sum(t.replayed_calls) AS BIGINT) AS replayed_calls,
    CAST(sum(t.turn_calls) AS BIGINT) AS turn_calls,
    CAST(sum(t.side_calls) AS BIGINT) AS side_calls,
    CAST(sum(t.failed_calls) AS BIGINT) AS failed_calls,
    CAST(quantile_cont(t.model_ns, 0.5) AS BIGINT) AS model_median_ns,
    CAST(quantile_cont(t.first_token_ns, 0.5) AS BIGINT) AS first_token_median_ns
FROM plan AS p
JOIN trials AS t ON t.harness = p.harness AND t.task = p.task AND t.attempt = p.attempt
GROUP BY p.task_no, p.task, p.task_digest, p.scorer_digest, p.harness_no, p.harness
ORDER BY p.task_no, p.harness_no
