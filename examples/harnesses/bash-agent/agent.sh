#!/usr/bin/env bash
# An agent that speaks the harness protocol in plain bash: it lists the workspace and answers.
set -u

# A text as a JSON string. Bytes that are not UTF-8 may pass: HEMRA keeps them.
json() {
    local text=$1 number character
    text=${text//\\/\\\\}
    text=${text//\"/\\\"}
    text=${text//$'\n'/\\n}
    for number in {1..31}; do
        printf -v character '%b' "\\x$(printf '%x' "$number")"
        text=${text//"$character"/$(printf '\\u%04x' "$number")}
    done
    printf '"%s"' "$text"
}

# Say hello before anything else; then read the whole task, a single line of JSON.
printf '{"type":"hello","protocol":"hemra/1","name":"bash-agent","version":"1.0"}\n'
IFS= read -r task
printf '{"type":"log","level":"debug","text":%s}\n' "$(json "the task has ${#task} characters")"

# The program is started in the workspace; a tool call is told before it is made, its result after.
command='ls -A'
printf '{"type":"message","role":"assistant","text":%s}\n' "$(json "I will run $command.")"
printf '{"type":"tool_call","call":"1","name":"terminal","arguments":{"command":%s},"turn":1}\n' "$(json "$command")"
if output=$($command 2>&1); then ok=true; else ok=false; fi
printf '{"type":"tool_result","call":"1","ok":%s,"result":%s}\n' "$ok" "$(json "$output")"

# The final line says that the work is done; exit soon after it.
printf '{"type":"final","text":%s}\n' "$(json "The workspace holds: $output")"
