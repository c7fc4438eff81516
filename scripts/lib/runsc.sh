# gVisor's runsc, no older than the release that Holt's checkpoints are tested with.
# setup.sh names the places: $tools for programs kept beside the repository, $apt_log for what apt says.
# shellcheck shell=bash disable=SC2154

readonly MIN_RUNSC=20240729

# What somebody would type to get it by hand.
runsc_howto() {
	case $(os_field ID)-$(os_field VERSION_ID) in
	debian-12) echo 'apt-get install -t bookworm-backports runsc  (with bookworm-backports in your apt sources)' ;;
	debian-13) echo 'apt-get install runsc' ;;
	*) echo 'install runsc as gvisor.dev/docs/user_guide/install says' ;;
	esac
}

ensure_runsc() {
	runsc_is_new && return
	local what='runsc is missing'
	have runsc && what="$(runsc --version | head -n 1) is older than $MIN_RUNSC"
	if ! may_install; then
		fix "$what" "$(runsc_howto)"
		return
	fi
	say "$what: installing it"
	local dir done=1
	dir=$(mktemp -d)
	fetch_runsc "$dir" >"$apt_log" 2>&1 &&
		DEBIAN_FRONTEND=noninteractive timeout 300 apt-get -o DPkg::Lock::Timeout=120 -y -qq install "$dir"/runsc_*.deb >>"$apt_log" 2>&1 &&
		done=0
	rm -rf "$dir"
	hash -r
	if [ "$done" -ne 0 ] || ! runsc_is_new; then
		tail -n 5 "$apt_log"
		fix 'runsc cannot be installed (see above: the mirror may be out of reach)' "$(runsc_howto)"
	fi
}

# A release is named release-20240729.0, or 0.0~20240729.0 by Debian.
runsc_is_new() {
	local date
	have runsc && date=$(runsc --version 2>/dev/null | grep -oE '20[0-9]{6}' | head -n 1) && [ -n "$date" ] && [ "$date" -ge "$MIN_RUNSC" ]
}

fetch_runsc() {
	local dir=$1 line
	case $(os_field ID)-$(os_field VERSION_ID) in
	debian-12) line=$(debian_source bookworm-backports) ;;
	debian-13) line=$(debian_source trixie) ;;
	*)
		curl --fail --silent --show-error --location --max-time 60 --output "$dir/gvisor.asc" https://gvisor.dev/archive.key || return
		line="deb [signed-by=$dir/gvisor.asc] https://storage.googleapis.com/gvisor/releases release main"
		;;
	esac
	[ -n "$line" ] && private_download "$dir" "$line" runsc
}
