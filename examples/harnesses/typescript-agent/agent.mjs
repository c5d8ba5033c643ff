// @ts-check
// The smallest agent that speaks the harness protocol in typed JavaScript: one command, one answer.
// A real agent asks a model between the lines; what it has to say to HEMRA stays the same.

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** @typedef {import("./protocol.d.ts").Task} Task */
/** @typedef {import("./protocol.d.ts").Line} Line */

const VERSION = "1.0";

/** Write one line of the protocol. Node flushes what is written before it exits by itself, so it must not be made to.
 * @param {Line} line */
function say(line) {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

function main() {
  // Say hello before anything else; then read the whole task.
  say({ type: "hello", protocol: "hemra/1", name: "typescript-agent", version: VERSION });
  /** @type {Task} */
  const task = JSON.parse(readFileSync(0, "utf8"));
  say({ type: "log", level: "debug", text: `working on ${task.task}, attempt ${task.attempt}` });

  const command = typeof task.settings.command === "string" ? task.settings.command : "ls";
  say({ type: "message", role: "assistant", text: `I will run \`${command}\`.`, reasoning: "There is nothing else to do." });
  // A tool call is told before it is made, its result after.
  say({ type: "tool_call", call: 1, name: "terminal", arguments: { command }, turn: 1 });
  const done = spawnSync("/bin/sh", ["-c", command], {
    cwd: task.workspace, stdio: ["ignore", "pipe", "pipe"], encoding: "utf8", timeout: 30_000,
  });
  const output = `${done.stdout ?? ""}${done.stderr ?? ""}`;
  say({ type: "tool_result", call: 1, ok: done.status === 0, result: { output, exit_code: done.status } });
  say({ type: "usage", model: "none", input_tokens: 0, output_tokens: 0, cost_usd: 0 });
  say({ type: "final", text: `I ran \`${command}\`, which printed:\n${output}` });
}

if (process.argv.includes("--version")) {
  process.stdout.write(`${VERSION}\n`);
} else {
  main();
}
