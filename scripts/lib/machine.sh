# What the kernel and the hardware have to offer. Nothing here can be installed.
# shellcheck shell=bash

readonly MIN_DISK_MIB=6144
readonly MIN_MEMORY_MIB=2048

check_machine() {
	[ "$(uname -s)" = Linux ] || fix "Holt runs on Linux, this is $(uname -s)" 'use a Debian 12 or 13 machine'
	case $(uname -m) in
	x86_64 | aarch64) ;;
	*) fix "there is no runsc for $(uname -m)" 'use an x86-64 or arm64 machine' ;;
	esac
	[ "$(id -u)" -eq 0 ] || fix 'mounts, loop devices and cgroups need root' "sudo -E $HOLT_COMMAND"
	check_filesystem erofs CONFIG_EROFS_FS
	check_filesystem overlay CONFIG_OVERLAY_FS
	check_filesystem ext4 CONFIG_EXT4_FS
	check_loop
	for controller in cpu memory pids; do check_controller "$controller"; done
	check_disk "${HOLT_STATE_DIR:-/var/lib}"
	check_disk /var/tmp
	check_memory
	check_node
}

check_filesystem() {
	grep -qw "$1" /proc/filesystems && return
	modprobe --quiet "$1" 2>/dev/null && return
	fix "the kernel cannot mount $1" "modprobe $1  (or a kernel with $2)"
}

check_loop() {
	[ -e /dev/loop-control ] && return
	modprobe --quiet loop 2>/dev/null && [ -e /dev/loop-control ] && return
	fix 'there are no loop devices' 'modprobe loop  (in a container: pass /dev/loop-control and loop devices in)'
}

# A controller may be in version 2 or, on hybrid and older hosts, in version 1.
check_controller() {
	grep -qw "$1" /sys/fs/cgroup/cgroup.controllers 2>/dev/null && return
	awk -v want="$1" '$3 == "cgroup" && ("," $4 ",") ~ ("," want ",") { found = 1 } END { exit !found }' /proc/mounts && return
	fix "the cgroup controller $1 is not there" "add cgroup_enable=$1 to the kernel's command line and restart"
}

# The file system that a directory is on, or will be.
check_disk() {
	local dir=$1 free
	while [ ! -d "$dir" ]; do dir=$(dirname "$dir"); done
	free=$(df --output=avail --block-size=1M "$dir" | tail -n 1 | tr -d ' ')
	[ "$free" -ge "$MIN_DISK_MIB" ] ||
		fix "$dir has $free MiB free, $MIN_DISK_MIB are needed" "free space on $dir, or set HOLT_STATE_DIR to another disk"
}

check_memory() {
	local total
	total=$(awk '/^MemTotal:/ { print int($2 / 1024) }' /proc/meminfo)
	[ "$total" -ge "$MIN_MEMORY_MIB" ] ||
		fix "the machine has $total MiB of memory, $MIN_MEMORY_MIB are needed" 'use a larger machine'
}

check_node() {
	local version
	if ! have node || ! have npm; then
		fix 'Node 20 or newer with npm is missing' 'apt-get install nodejs npm  (Debian 12: from nodejs.org/en/download)'
		return
	fi
	version=$(node --version)
	at_least "${version#v}" 20 || fix "Node $version is too old" 'install Node 20 or newer from nodejs.org/en/download'
}
