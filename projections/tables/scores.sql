-- scores: one row for each word of a scorer, whether or not it counts.
-- reads: score.recorded
--
-- seq, trial, try_no
-- reward_name, status        PASS, FAIL, SKIPPED or VERIFIER_ERROR
-- score                      in [0, 1]; null where the scorer gave none
-- reason, details            details is JSON
-- scorer_digest, duration_ns
SELECT
    seq,
    trial,
    CAST(data ->> '$.try_no' AS BIGINT) AS try_no,
    data ->> '$.reward_name' AS reward_name,
    data ->> '$.status' AS status,
    TRY_CAST(data ->> '$.score' AS DOUBLE) AS score,
    data ->> '$.reason' AS reason,
    data -> '$.details' AS details,
    data ->> '$.scorer_digest' AS scorer_digest,
    CAST(data ->> '$.duration_ns' AS BIGINT) AS duration_ns
FROM events
WHERE type = 'score.recorded'
ORDER BY seq
