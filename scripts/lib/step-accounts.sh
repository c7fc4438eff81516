# Accounts of the steps of a test run: wall time, processor time, and the idle time of the machine.
#
# A step runs in a cgroup of its own, which also counts the processes for which nobody waits, such as
# a service and its tools. Runtimes are in the cgroup of their installation. The service removes this
# group with its last runtime, so it is read every second. A machine without writable cgroups has no
# processor time here.
#
# test.sh sets $results, the directory of the results.
# shellcheck shell=bash disable=SC2154

# The hierarchy that counts processor time: `cpuacct` of version 1, or the tree of version 2.
account_root=$(awk '$3 == "cgroup" && ("," $4 ",") ~ /,cpuacct,/ { one = $2 } $3 == "cgroup2" { two = $2 }
	END { print one != "" ? one : two }' /proc/mounts)
# The group of this shell, by its path in that hierarchy.
own_group=$(awk -F: '("," $2 ",") ~ /,cpuacct,/ { one = $3 } $1 == "0" { two = $3 }
	END { print one != "" ? one : two }' /proc/self/cgroup)
readonly ACCOUNTS=$account_root${own_group%/}/holt-test-$$

# Begins the accounts of a run.
open_accounts() {
	steps=$results/steps.txt
	read_machine
	run_begun_us=$now_us run_begun_busy_us=$busy_us run_begun_idle_us=$idle_us
	if [ -n "$account_root" ] && mkdir "$ACCOUNTS" 2>/dev/null; then has_accounts=1; else has_accounts=0; fi
	[ "$has_accounts" = 0 ] || watch_runtimes &
}

# Removes the cgroups, also in the middle of a step. A process that ends late keeps its own.
close_accounts() {
	[ "$has_accounts" = 1 ] || return 0
	echo "$BASHPID" >"${ACCOUNTS%/*}/cgroup.procs" || true
	find "$ACCOUNTS" -depth -type d -exec rmdir {} + 2>/dev/null || true
}

# Runs a step, and notes what it took: timed NAME COMMAND...
# $lanes names the lanes whose runtimes belong to it.
timed() {
	local name=$1 status=0 group='' begun_us begun_idle_us begun_runtimes_us usage_us=- runtimes_us=-
	shift
	[ "$has_accounts" = 0 ] || group=$ACCOUNTS/$BASHPID-$EPOCHREALTIME
	[ -z "$group" ] || enter_group "$group" || group=
	read_machine
	read_runtimes
	begun_us=$now_us begun_idle_us=$idle_us begun_runtimes_us=$lanes_us
	"$@" || status=$?
	read_machine
	read_runtimes
	if [ -n "$group" ]; then
		echo "$BASHPID" >"${ACCOUNTS%/*}/cgroup.procs" || true
		read_usage "$group"
		runtimes_us=$((lanes_us - begun_runtimes_us))
	fi
	echo "$((begun_us - run_begun_us)) $((now_us - begun_us)) $usage_us $runtimes_us $((idle_us - begun_idle_us)) $name" >>"$steps"
	return "$status"
}

enter_group() { mkdir "$1" && echo "$BASHPID" >"$1/cgroup.procs"; } 2>/dev/null

# Reads the clock and the processor time of the machine since its start: $now_us, $busy_us, $idle_us.
# The kernel counts in hundredths of a second (proc_stat(5)).
read_machine() {
	local user nice system idle wait interrupts soft
	read -r _ user nice system idle wait interrupts soft _ </proc/stat
	now_us=${EPOCHREALTIME//[!0-9]/}
	busy_us=$(((user + nice + system + interrupts + soft) * 10000))
	idle_us=$(((idle + wait) * 10000))
}

# Reads the processor time of a cgroup with its subgroups: $usage_us.
read_usage() {
	if [ -e "$1/cpuacct.usage" ]; then
		read -r usage_us <"$1/cpuacct.usage" && usage_us=$((usage_us / 1000))
	else
		read -r _ usage_us <"$1/cpu.stat"
	fi 2>/dev/null || usage_us=0
}

# Reads the processor time of the runtimes of $lanes in this run: $lanes_us.
read_runtimes() {
	local lane one=0
	lanes_us=0
	for lane in ${lanes:-}; do
		[ ! -e "$results/runtimes-$lane.txt" ] || read -r one <"$results/runtimes-$lane.txt" || one=0
		lanes_us=$((lanes_us + ${one:-0}))
	done
}

# Adds up the processor time of the runtimes of each lane, every second.
watch_runtimes() {
	local -A last=() total=()
	local lane state usage_us seen=
	while :; do
		for state in .holt/e2e .holt/e2e-[0-9]; do
			[[ -e $state/installation.json && $(<"$state/installation.json") =~ \"id\":\ *\"([^\"]+)\" ]] || continue
			lane=${state#.holt/e2e} lane=${lane#-} lane=${lane:-1}
			read_usage "$account_root/holt-${BASH_REMATCH[1]}"
			# A group that was made again counts from zero. One that an earlier run left does not.
			[ "$usage_us" -ge "${last[$lane]:-0}" ] || last[$lane]=0
			[ -n "$seen" ] || last[$lane]=$usage_us
			total[$lane]=$((${total[$lane]:-0} + usage_us - ${last[$lane]:-0})) last[$lane]=$usage_us
			echo "${total[$lane]}" >"$results/runtimes-$lane.new"
			mv "$results/runtimes-$lane.new" "$results/runtimes-$lane.txt"
		done
		seen=1
		sleep 1
	done
}

# Prints the steps in the order of their starts, and the sums of the run.
show_steps() {
	printf '\n== seconds of each step: when it began, how long it took, the processor time of its own processes\n'
	printf '== and of its runtimes, and the idle time of all processors meanwhile\n'
	printf '%7s %7s %7s %8s %7s  %s\n' begin wall own runtimes idle step
	sort -n "$steps" | awk '
		function secs(us) { return us == "-" ? "-" : sprintf("%.1f", us / 1e6) }
		{ name = $0; for (field = 1; field <= 5; field++) sub(/^[^ ]+ /, "", name)
			own += $3; runtimes += $4
			printf "%7s %7s %7s %8s %7s  %s\n", secs($1), secs($2), secs($3), secs($4), secs($5), name }
		END { printf "%7s %7s %7s %8s %7s  %s\n", "", "", secs(own), secs(runtimes), "", "all steps" }'
	read_machine
	awk -v wall="$((now_us - run_begun_us))" -v busy="$((busy_us - run_begun_busy_us))" -v idle="$((idle_us - run_begun_idle_us))" \
		'BEGIN { printf "The run took %.0f s. The processors of the machine worked %.0f s and were idle %.0f s.\n", wall / 1e6, busy / 1e6, idle / 1e6 }'
}
