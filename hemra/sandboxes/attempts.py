"""What a probe tries from inside a sandbox, as POSIX shell: an image need not have anything else.

A script gets what it needs as variables and says a line `@ NAME yes TEXT` for each attempt that got through,
`@ NAME no` for one that did not, and nothing for one that could not be made (no tool for it is there).
"""

from __future__ import annotations

#: Tries to connect to $1:$2 with whatever is there. 0: connected; 1: not; 2: there is nothing to try it with.
_CONNECT = """
connect() {
    if command -v python3 >/dev/null 2>&1; then
        python3 -c 'import socket,sys
try: socket.create_connection((sys.argv[1], int(sys.argv[2])), 2)
except OSError: sys.exit(1)' "$1" "$2"
    elif command -v perl >/dev/null 2>&1; then
        perl -e 'use Socket; alarm 3; socket(S, PF_INET, SOCK_STREAM, 0);
exit(connect(S, sockaddr_in($ARGV[1], inet_aton($ARGV[0]))) ? 0 : 1)' "$1" "$2"
    elif command -v bash >/dev/null 2>&1; then
        bash -c "exec 3<>/dev/tcp/$1/$2" 2>/dev/null
    elif command -v nc >/dev/null 2>&1; then
        nc -z -w 2 "$1" "$2"
    else
        return 2
    fi
}
reached() {
    connect "$2" "$3" 2>/dev/null
    case $? in 0) echo "@ $1 yes connected to $2:$3" ;; 1) echo "@ $1 no" ;; esac
}
"""

#: Variables: HOME_FILE STORE_FILE VERIFIER_FILE TRIAL_FILE OUTSIDE VICTIM SERVICE_PORT SOCKET LAN
#: LAN_PORT PLACES; HOME_FILE and LAN may be empty.
ISOLATION = (
    _CONNECT
    + r"""
# Makes a user namespace by whatever there is that can.
nest() {
    if command -v unshare >/dev/null 2>&1; then unshare -U true 2>/dev/null && nested=yes || nested=no
    elif command -v python3 >/dev/null 2>&1; then
        nested=$(python3 -c 'import ctypes
print("yes" if ctypes.CDLL(None).unshare(0x10000000) == 0 else "no")' 2>/dev/null)
    else return
    fi
    [ -n "$nested" ] && echo "@ $1 $nested made one"
}
seen() {
    if text=$(cat "$2" 2>/dev/null) && [ -n "$text" ]; then echo "@ $1 yes read $2"; else echo "@ $1 no"; fi
}
if [ -n "$HOME_FILE" ]; then seen user_home "$HOME_FILE"; fi
seen store_hidden "$STORE_FILE"
seen verifier_hidden "$VERIFIER_FILE"
seen other_trials "$TRIAL_FILE"
ln -s "$STORE_FILE" link 2>/dev/null
seen store_hidden link
wrote=
for place in "$OUTSIDE" $PLACES; do
    if (echo changed > "$place") 2>/dev/null; then wrote="$wrote $place"; fi
done
if [ -n "$wrote" ]; then echo "@ file_system yes wrote$wrote"; else echo "@ file_system no"; fi
found=
if [ "$(tr '\0' ' ' < /proc/$VICTIM/environ 2>/dev/null | grep -c HEMRA_PROBE_VICTIM)" -gt 0 ]; then
    found=" read its environment"; fi
if kill -0 "$VICTIM" 2>/dev/null && grep -q cat "/proc/$VICTIM/comm" 2>/dev/null; then found="$found saw it"; fi
if [ -n "$found" ]; then echo "@ host_processes yes$found"; else echo "@ host_processes no"; fi
if env | grep -q HEMRA_PROBE_SECRET; then echo "@ environment yes"; else
    if cat /proc/*/environ 2>/dev/null | tr '\0' '\n' | grep -q HEMRA_PROBE_SECRET; then
        echo "@ environment yes of another process"; else echo "@ environment no"; fi; fi
if [ -S "$SOCKET" ] || [ -S /var/run/docker.sock ] || [ -S /run/docker.sock ]; then
    echo "@ user_sockets yes a socket of the user is there"; else echo "@ user_sockets no"; fi
status=$(cat /proc/self/status 2>/dev/null)
if [ -n "$status" ]; then
    case "$status" in
    *NoNewPrivs*1*) if echo "$status" | grep -q '^CapEff:.*[1-9a-f]'; then
            echo "@ privileges yes has capabilities"; else echo "@ privileges no"; fi ;;
    *) echo "@ privileges yes may gain some" ;;
    esac
fi
nest user_namespaces
reached host_services 127.0.0.1 "$SERVICE_PORT"
if [ -n "$LAN" ]; then reached network "$LAN" "$LAN_PORT"; fi
if [ -r /proc/net/route ]; then
    if [ "$(grep -vc '^Iface' /proc/net/route)" -gt 0 ]; then
        echo "@ cloud_metadata yes there is a route"; echo "@ network yes there is a route"
    else echo "@ cloud_metadata no"; echo "@ network no"; fi
fi
"""
)

#: Variables: GIVEN_HOST GIVEN_PORT: an endpoint that the trial was given and must reach.
GIVEN = _CONNECT + 'connect "$GIVEN_HOST" "$GIVEN_PORT"; echo "@ given $?"\n'

#: Limit -> a program that passes it as fast as it can.
PASSING = {
    "wall_time": "sleep 600",
    "cpu_time": "while :; do :; done",
    "cpus": "for n in 1 2 3 4; do (while :; do :; done) & done; sleep 1; exit 0",
    "output": "while :; do echo 0123456789012345678901234567890123456789; done",
    "memory": "x=0123456789; while :; do x=$x$x; done",
    "processes": "n=0; while [ $n -lt 4000 ]; do sleep 600 & n=$((n+1)); done; wait",
    "file_size": "head -c 9000000 /dev/zero > big; echo",
    "workspace_size": "n=0; while :; do head -c 1000000 /dev/zero > part$n; n=$((n+1)); sleep 0.01; done",
}

#: Whether the file that `file_size` writes is within a limit of $1 bytes.
WITHIN = 'if [ "$(wc -c < big)" -le "$1" ]; then echo "@ file_size no"; else echo "@ file_size yes"; fi'

#: Leaves processes behind in every way that needs no tool of its own. $1 marks them.
OUTLIVING = r"""
sleep $1 &
(sleep $1 &) &
nohup sleep $1 >/dev/null 2>&1 &
(trap '' TERM HUP; sleep $1; sleep $1) &
if command -v setsid >/dev/null 2>&1; then setsid sleep $1 & setsid sh -c "setsid sleep $1 & exit" & fi
sleep 0.1
"""
