// The harness protocol in TypeScript. docs/harness-protocol.schema.json says the same as a JSON Schema.

/** What the program reads from stdin: one JSON object. */
export interface Task {
  protocol: "hemra/1";
  run: string;
  trial: string;
  task: string;
  instruction: string;
  workspace: string;
  home: string;
  seed: number;
  attempt: number;
  /** null = no limit */
  limits: Record<string, number | null>;
  allowed_tools: string[];
  forbidden_tools: string[];
  model: string | null;
  settings: Record<string, unknown>;
  /** that the task brings, by name */
  mcp_servers: Record<string, McpServer>;
  solution_dir?: string;
}

/** A server that the program starts in the workspace, or one that it reaches at a URL. */
export type McpServer =
  { type: "stdio"; command: string; args: string[]; env: Record<string, string> } |
  { type: "http" | "sse"; url: string; headers: Record<string, string> };

/** What it writes to stdout, one JSON object a line. */
export type Line =
  | { type: "hello"; protocol: "hemra/1"; name?: string; version?: string }
  | { type: "message"; text: unknown; role?: "assistant" | "user" | "system" | "tool"; reasoning?: unknown }
  | { type: "tool_call"; call: string | number; name: string; arguments: unknown; turn?: number }
  | { type: "tool_result"; call: string | number; ok: boolean | null; result: unknown }
  | ({ type: "usage"; model?: string | null } & Usage)
  | { type: "log"; text: string; level?: "debug" | "info" | "warning" | "warn" | "error" }
  | { type: "error"; kind: "auth" | "quota" | "provider" | "harness"; text: string }
  | { type: "final"; text: string };

/** Tokens of one model call; leave out what is not known. */
export interface Usage {
  /** cached ones included */
  input_tokens?: number;
  cache_read_tokens?: number;
  cache_write_tokens?: number;
  output_tokens?: number;
  reasoning_tokens?: number;
  cost_usd?: number;
}
