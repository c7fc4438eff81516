# Runs a service from the container image of a release with podman, as docs/install.md tells it.
# test-release.sh has $release, $version and $work, and counts the steps.
# shellcheck shell=bash disable=SC2154

# The time of a call of podman, in seconds. Loading the image takes longest.
readonly podman_secs=300
# The first start makes the base template, from mirrors. A later one finds it.
readonly first_start_secs=900 later_start_secs=120
readonly image_cgroup=/holt-image-$$

test_image() {
	local image
	image=$release/holt-$version-image-$(node -p process.arch).tar
	if [ ! -e "$image" ]; then
		skip "$image is not there: npm run release makes it"
		return
	fi
	if ! find_podman; then
		skip "podman cannot be fetched: $(tail -n 1 "$work/image.log")"
		return
	fi
	step 'image: podman loads it' run_podman load --input "$image"
	step 'image: the service starts' start_service
	step 'image: the service gets ready' wait_for_service "$first_start_secs"
	for class in gvisor container; do
		step "image: a runtime of the class $class runs a command" class_runs "$class"
	done
	step 'image: the container stops, with runtimes in it' service_stops
	step 'image: a paused runtime is there after the next start' service_comes_back
	step 'image: the container leaves nothing behind' container_leaves_nothing
	clean_image
}

# Finds podman, or fetches that of the host's Debian for this run.
find_podman() {
	local suite ids=libsubid5
	podman_dir=$work/podman podman=podman conmon=
	mkdir -p "$podman_dir"
	# Debian's podman asks for higher limits than a host without CAP_SYS_RESOURCE gives.
	printf '[containers]\ndefault_ulimits = []\n' >"$podman_dir/containers.conf"
	have podman && return
	suite=$(os_field VERSION_CODENAME)
	[ "$suite" != bookworm ] || ids=libsubid4
	private_download "$podman_dir" "$(debian_source "$suite")" podman conmon "$ids" >"$work/image.log" 2>&1 || return
	for deb in "$podman_dir"/*.deb; do dpkg-deb --extract "$deb" "$podman_dir/root"; done
	podman=$podman_dir/root/usr/bin/podman conmon=$podman_dir/root/usr/bin/conmon
}

# Runs podman with storage of its own: run_podman ARGUMENT...
run_podman() {
	local libraries options=(--root "$podman_dir/storage" --runroot "$podman_dir/run" --tmpdir "$podman_dir/tmp")
	options+=(--cgroup-manager=cgroupfs --events-backend=none --runtime="$(command -v runc)" ${conmon:+"--conmon=$conmon"})
	libraries=$podman_dir/root/usr/lib/$(uname -m)-linux-gnu
	CONTAINERS_CONF=$podman_dir/containers.conf LD_LIBRARY_PATH=$libraries \
		timeout "$podman_secs" "$podman" "${options[@]}" "$@"
}

# The options after --volume are for this test: a port beside that of the host's service, the limits
# and the certificates of the host, and a place for the cgroups.
start_service() {
	holt_port=$(node -e 'const server = require("net").createServer().listen(0, "127.0.0.1", () => {
		console.log(server.address().port); server.close() })')
	run_podman run --detach --name holt --privileged --cgroupns=host --network=host --stop-timeout=60 \
		--volume holt:/var/lib/holt --env "HOLT_PORT=$holt_port" --ulimit=host \
		--volume /etc/ssl/certs:/etc/ssl/certs:ro --cgroup-parent="$image_cgroup" "holt:$version"
}

# Waits until the service is ready: wait_for_service SECONDS
wait_for_service() {
	local end=$((SECONDS + $1))
	until curl --silent --fail --max-time 5 "http://127.0.0.1:$holt_port/readyz"; do
		if [ "$SECONDS" -ge "$end" ]; then
			run_podman logs --tail 5 holt
			return 1
		fi
		sleep 1
	done
}

# Tests that a class runs a command: class_runs CLASS
class_runs() { [ "$(run_podman exec holt holt run --isolation "$1" -- python3 -c 'print(6 * 7)')" = 42 ]; }

# Stops the container with runtimes in it. Those that wait in the pool are frozen. A kill would be
# the code 137.
service_stops() {
	run_podman exec holt holt create -n goes &&
		run_podman exec holt holt create -n stays &&
		run_podman exec holt holt exec stays -- sh -c 'echo kept >/workspace/note' &&
		run_podman exec holt holt pause stays &&
		run_podman stop holt &&
		[ "$(run_podman inspect --format '{{.State.ExitCode}}' holt)" = 0 ]
}

# Tests that a runtime which was paused goes on in the next service.
service_comes_back() {
	run_podman start holt && wait_for_service "$later_start_secs" &&
		[ "$(run_podman exec holt holt exec stays -- cat /workspace/note)" = kept ]
}

# Tests that no loop device of an image in the volume is left, and no cgroup except podman's own.
container_leaves_nothing() {
	run_podman stop holt && run_podman rm holt || return
	local volume left
	volume=$(run_podman volume inspect --format '{{.Mountpoint}}' holt) || return
	left=$(LC_ALL=C comm -12 \
		<(find "$volume" -type f -printf '%i\n' | LC_ALL=C sort -u) \
		<(losetup --list --noheadings --output BACK-INO | tr -d ' ' | LC_ALL=C sort -u))
	left+=$(find /sys/fs/cgroup -path "/sys/fs/cgroup*$image_cgroup/*" -type d ! -name conmon)
	printf '%s' "$left"
	[ -z "$left" ]
}

# Removes the container and podman's storage, also after a failure.
clean_image() {
	[ -n "${podman_dir:-}" ] || return 0
	run_podman rm --force --volumes --time 60 holt >/dev/null 2>&1 || true
	umount "$podman_dir/storage/overlay" 2>/dev/null || true
	# podman leaves them.
	find /sys/fs/cgroup -maxdepth 3 -depth -path "*$image_cgroup*" -type d -exec rmdir {} + || true
}
