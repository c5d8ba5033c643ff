-- superseded: one row for each try that was run again, and so does not count.
-- needs: tries, trials, plan
--
-- trial, harness, task, attempt   of the trial that it belongs to
-- try_no … score_seq         as in table tries; state is open where the try was interrupted; calls by kind are 0, not
--                            null, where the harness's calls pass the gateway and none did
SELECT
    t.harness,
    t.task,
    t.attempt,
    x.* REPLACE (
        CASE WHEN p.served THEN coalesce(x.turn_calls, 0) ELSE x.turn_calls END AS turn_calls,
        CASE WHEN p.served THEN coalesce(x.side_calls, 0) ELSE x.side_calls END AS side_calls,
        CASE WHEN p.served THEN coalesce(x.failed_calls, 0) ELSE x.failed_calls END AS failed_calls,
        CASE WHEN p.served THEN coalesce(x.retry_calls, 0) ELSE x.retry_calls END AS retry_calls,
        CASE WHEN p.served THEN coalesce(x.refused_calls, 0) ELSE x.refused_calls END AS refused_calls
    )
FROM tries AS x
JOIN trials AS t ON t.trial = x.trial
LEFT JOIN plan AS p ON p.harness = t.harness AND p.task = t.task AND p.attempt = t.attempt
WHERE NOT x.latest
ORDER BY x.first_seq
