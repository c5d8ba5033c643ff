-- messages: one row for each message of a conversation.
-- reads: message.recorded
-- needs: starts
--
-- seq, trial, try_no
-- offset_ns                  since the try began, monotonic clock
-- role                       system, user, assistant or tool
-- text, reasoning            JSON as recorded: escapes and moved-out payloads as in the log
-- final                      the harness called it its answer
SELECT
    e.seq,
    e.trial,
    s.try_no,
    CASE WHEN e.mono < s.mono THEN 0 ELSE e.mono - s.mono END AS offset_ns,
    e.data ->> '$.role' AS role,
    e.data -> '$.text' AS text,
    e.data -> '$.reasoning' AS reasoning,
    TRY_CAST(e.data ->> '$.final' AS BOOLEAN) AS final
FROM events AS e
LEFT JOIN starts AS s
    ON s.trial = e.trial AND e.seq > s.first_seq AND (s.next_seq IS NULL OR e.seq < s.next_seq)
WHERE e.type = 'message.recorded'
ORDER BY e.seq
