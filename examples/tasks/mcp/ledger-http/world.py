"""A small MCP server over streamable HTTP: a JSON-RPC message in each POST, its reply as JSON. It lives with the trial.

It knows the drawn balances and has the tools `accounts` and `lookup`; its address is the value `ledger_url`.
"""

import http.server
import json
import sys

TOOLS = [
    {
        "name": "lookup",
        "description": "The balance of one account.",
        "inputSchema": {
            "type": "object",
            "properties": {"account": {"type": "string", "description": "Its name, as in A-123."}},
            "required": ["account"],
        },
    },
    {
        "name": "accounts",
        "description": "The names of all accounts.",
        "inputSchema": {"type": "object", "properties": {}},
    },
]
BALANCES = json.load(sys.stdin)["values"]["balances"]


def called(name, arguments):
    """Text of a tool's answer, and whether it is an error."""
    if name == "accounts":
        return " ".join(BALANCES), False
    account = arguments.get("account")
    if account not in BALANCES:
        return f"there is no account {account!r}", True
    return f"{account}: {BALANCES[account]}", False


def replied(message):
    """The reply to a request."""
    method, params = message.get("method"), message.get("params") or {}
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    if method == "initialize":
        return reply | {
            "result": {
                "protocolVersion": params.get("protocolVersion", "2025-06-18"),
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "ledger", "version": "1"},
            }
        }
    if method == "tools/list":
        return reply | {"result": {"tools": TOOLS}}
    if method == "tools/call":
        text, failed = called(params.get("name"), params.get("arguments") or {})
        return reply | {"result": {"content": [{"type": "text", "text": text}], "isError": failed}}
    if method == "ping":
        return reply | {"result": {}}
    return reply | {"error": {"code": -32601, "message": f"no method {method}"}}


class Ledger(http.server.BaseHTTPRequestHandler):
    """Requests get their reply, notifications a 202; there is no stream to be listened to."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        """One message."""
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "id" not in message or "method" not in message:
            self.send(202, b"")
            return
        self.send(200, json.dumps(replied(message)).encode())

    def do_GET(self):
        """A client asks for a stream of the server's own messages."""
        self.send(405, b"")

    def send(self, status, body):
        """A whole answer."""
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *told):
        """Nobody reads it."""


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Ledger)
url = f"http://127.0.0.1:{server.server_port}/mcp"
print("ready " + json.dumps({"ledger_url": url}), flush=True)
server.serve_forever()
