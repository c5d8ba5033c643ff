-- plan: one row for each trial that the plan asks for (harness x task x attempt), queued or not.
-- reads: run.planned
--
-- harness_no, task_no   position in the plan, from 1
-- harness, harness_kind, harness_version, harness_digest, model   version and model are null where not told
-- served                     its calls of a model pass the gateway
-- installed                  digest of all files of the program, where hemra installed it; null for another
-- upstream                   base URL of the model's endpoint behind the gateway; null where it is not served
-- task, task_digest, scorer_digest
-- attempt               from 1
WITH planned AS (
    SELECT data FROM events WHERE type = 'run.planned' ORDER BY seq LIMIT 1
),
harnesses AS (
    SELECT unnest(range(1, 1 + json_array_length(data, '$.harnesses')::BIGINT)) AS harness_no,
           unnest(data -> '$.harnesses[*]') AS harness
    FROM planned
),
tasks AS (
    SELECT unnest(range(1, 1 + json_array_length(data, '$.tasks')::BIGINT)) AS task_no,
           unnest(data -> '$.tasks[*]') AS task
    FROM planned
),
attempts AS (
    SELECT unnest(range(1, 1 + CAST(data ->> '$.attempts' AS BIGINT))) AS attempt
    FROM planned
)
SELECT
    harness_no,
    harness ->> '$.name' AS harness,
    harness ->> '$.kind' AS harness_kind,
    harness ->> '$.version' AS harness_version,
    harness ->> '$.digest' AS harness_digest,
    harness ->> '$.definition.model' AS model,
    coalesce(json_type(harness, '$.definition.upstream') = 'OBJECT', false) AS served,
    harness ->> '$.installed.digest' AS installed,
    harness ->> '$.definition.upstream.base_url' AS upstream,
    task_no,
    task ->> '$.id' AS task,
    task ->> '$.digest' AS task_digest,
    task ->> '$.scorer_digest' AS scorer_digest,
    attempt
FROM harnesses, tasks, attempts
ORDER BY harness_no, task_no, attempt
