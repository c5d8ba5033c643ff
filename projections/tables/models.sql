-- models: one row for each model that a harness's calls asked for, and each that answered, over all its tries.
-- needs: model_calls, usage, trials
--
-- harness
-- kind                       turn, side (as in table model_calls), or told: no call passed the gateway, the harness
--                            told who answered
-- auxiliary                  why it is no turn; null for one
-- asked, answered            names as they were recorded; null = not told
-- calls                      how many
WITH named AS (
    SELECT trial, kind, auxiliary, asked_model AS asked, model AS answered
    FROM model_calls
    WHERE kind IN ('turn', 'side')
    UNION ALL
    SELECT trial, 'told' AS kind, NULL AS auxiliary, NULL AS asked, model AS answered
    FROM usage
    WHERE call IS NULL
)
SELECT t.harness, n.kind, n.auxiliary, n.asked, n.answered, count(*) AS calls
FROM named AS n
JOIN trials AS t ON t.trial = n.trial
GROUP BY ALL
ORDER BY t.harness, n.kind, n.auxiliary NULLS FIRST, n.asked NULLS FIRST, n.answered NULLS FIRST
