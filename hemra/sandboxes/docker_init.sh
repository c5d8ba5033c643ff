# Process 1 of a trial's container: takes one program, runs it, ends what is left of it, and says how it went.
# Plain POSIX shell, for that is what images have; nothing here may fork once the program runs, for it may have
# used up all processes. The program is the same user, and cannot look into the shell that runs this (docker_shell.py).
#
# On stdin comes a word that nobody else knows, then shell lines that say what to run, then the word again.
# What follows is the program's stdin. On stderr, between what the program prints there, it says, behind the word:
#
#     failed <errno>                        the program cannot be started; nothing else follows. `forward`: the
#                                           image has nothing that could forward connections; `forward-failed`
#     started <pid>                         before any output of the program
#     ended <exit code> <leftover> <killed> <oom kills> <forks refused> <peak bytes> <cpu>
#
# `leftover` processes were still there a moment after the program had ended, `killed` of them needed SIGKILL; both
# are "-" where programs were started beside this process, which then lives on.
# `cpu` is in ns with the letter n behind it, or in us with u. What is not known is "-".
# SIGTERM to this process goes to all others; SIGUSR1 ends the wait for programs that are started beside it;
# SIGKILL to it ends them all, and the engine does that.

say() { printf '%s %s\n' "$word" "$1" >&2; }

refuse() {
    say "failed $1"
    exit 126
}

# Whether $1 can be started: it, and the program that its first line names.
check() {
    found=$1
    case $1 in
    */*) ;;
    *)
        found=
        rest=$search:
        while [ -n "$rest" ]; do
            folder=${rest%%:*}
            rest=${rest#*:}
            [ -f "$folder/$1" ] && [ -x "$folder/$1" ] && found=$folder/$1 && break
        done
        ;;
    esac
    [ -e "$found" ] || refuse 2
    [ -x "$found" ] && [ ! -d "$found" ] || refuse 13
    first=
    [ -r "$found" ] && IFS= read -r first <"$found"
    case $first in
    '#!'*)
        first=${first#'#!'}
        first=${first#"${first%%[! 	]*}"}
        first=${first%%[ 	]*}
        [ -x "$first" ] || refuse 2
        ;;
    esac
}

# count: processes besides this one and its helpers that have not ended. others: those of them that were started
# from outside, beside this process; their parent is not in the container.
living() {
    count=0 others=0
    for entry in /proc/[0-9]*; do
        entry=${entry#/proc/}
        case " 1 $helpers " in *" $entry "*) continue ;; esac
        stat=
        { IFS= read -r stat <"/proc/$entry/stat"; } 2>/dev/null
        stat=${stat##*) }
        case $stat in [ZX]* | "") continue ;; esac
        stat=${stat#? }
        case " $helpers " in *" ${stat%% *} "*) continue ;; esac
        count=$((count + 1))
        [ "${stat%% *}" = 0 ] && others=$((others + 1))
    done
}

# Wait until none lives, at most $1 hundredths of a second. Without a fork there is only looking.
until_none() {
    read -r now _ </proc/uptime
    end=$((${now%.*}${now#*.} + $1))
    living
    while [ "$count" -gt 0 ] && [ "${now%.*}${now#*.}" -lt "$end" ]; do
        living
        read -r now _ </proc/uptime
    done
}

# value: the number behind the name $1 in the first of the files $2... that is there; without a name, all of it.
figure() {
    name=$1
    shift
    value=-
    for file in "$@"; do
        [ -r "$file" ] || continue
        while read -r key number _; do
            if [ -z "$name" ]; then value=$key; elif [ "$key" = "$name" ]; then value=$number; fi
        done <"$file" 2>/dev/null
        return
    done
}

figures() {
    cgroup=/sys/fs/cgroup
    figure oom_kill $cgroup/memory/memory.oom_control $cgroup/memory.events
    line=$value
    figure max $cgroup/pids/pids.events $cgroup/pids.events
    line="$line $value"
    figure '' $cgroup/memory/memory.max_usage_in_bytes $cgroup/memory.peak
    line="$line $value"
    figure '' $cgroup/cpuacct/cpuacct.usage
    if [ "$value" != - ]; then
        line="$line ${value}n"
    else
        figure usage_usec $cgroup/cpu.stat
        line="$line ${value}u"
    fi
}

# Whoever is on the other side of the trial holds the lifeline open; when it dies, the trial does.
hold_lifeline() {
    [ -p "$lifeline" ] || return 0
    (
        trap '' TERM USR1 HUP INT
        read -r _ <"$lifeline"
        kill -KILL -1
    ) &
    helpers="$helpers $!"
}

# Services of the machine, at loopback ports of this container.
start_forwarding() {
    [ -n "$forward" ] || return 0
    if command -v python3 >/dev/null 2>&1; then
        with="python3 -I -S -B $control/forward.py"
    elif command -v perl >/dev/null 2>&1; then
        with="perl $control/forward.pl"
    else
        refuse forward
    fi
    (
        trap '' TERM USR1
        $with $forward || echo failed >"$control/ready"
    ) &
    helpers="$helpers $!"
    read -r answer <"$control/ready"
    [ "$answer" = ready ] || refuse forward-failed
}

exec 3<&0 </dev/null
IFS= read -r word <&3 || exit 0
order=
helpers=
complete=
while IFS= read -r line <&3; do
    [ "$line" = "$word" ] && complete=1 && break
    order="$order$line
"
done
[ -n "$complete" ] || exit 0

# Sets mode (main, idle; for a second shell beside process 1: beside, check), search (PATH), program, folder, control, lifeline, forward, and as "$@" what
# `env` is given: variables, and the program with its arguments.
mode= search= program= folder=/ control= lifeline= forward=
eval "$order"
default=
env --default-signal=INT,QUIT true 2>/dev/null && default=--default-signal=INT,QUIT
session=
command -v setsid >/dev/null 2>&1 && session=setsid
if [ "$mode" != idle ]; then
    cd "$folder" 2>/dev/null || refuse 20
    check "$program"
fi
if [ "$mode" = check ]; then
    say "started $$"
    exit 0
fi
if [ "$mode" = beside ]; then
    read -r pid _ </proc/self/stat
    say "started $pid"
    exec env $default -i "$@" <&3 3<&-
fi

stopping=
trap 'stopping=1; kill -TERM -1 2>/dev/null' TERM
trap : USR1
trap '' HUP INT QUIT TSTP
hold_lifeline
start_forwarding
main=
code=0
if [ "$mode" = idle ]; then
    exec 3<&-
    say "started 1"
    read -r _ <"$lifeline"
else
    (
        trap - TERM USR1 HUP INT QUIT TSTP
        read -r pid _ </proc/self/stat
        say "started $pid"
        exec $session env $default -i "$@" <&3 3<&-
    ) &
    main=$!
    exec 3<&-
    while
        wait "$main"
        code=$?
        [ -e "/proc/$main" ]
    do :; done
fi

living
if [ "$others" -gt 0 ] && [ -z "$stopping" ]; then
    # With this process they would all end. Which processes were the program's, whoever asked for it finds out.
    figures
    say "ended $code - - $line"
    read -r _ <"$lifeline"
    exit 0
fi
leftover=$count
killed=0
if [ "$count" -gt 0 ]; then
    until_none 10
    leftover=$count
fi
if [ "$count" -gt 0 ]; then
    [ -n "$stopping" ] || kill -TERM -1 2>/dev/null
    until_none 50
    killed=$count
fi
kill -KILL -1 2>/dev/null
figures
say "ended $code $leftover $killed $line"
exit "$code"
