# The control plane: four processes of this machine, on loopback (or, with nodes, on the lab's own network).

up() {
	local nodes=${KUBE_LAB_NODES:-0} began n
	[[ ${1:-} == --nodes ]] && nodes=${2:?how many?}
	[[ $nodes =~ ^[0-3]$ ]] || fail "0 to 3 nodes"
	[[ -x $bin/kube ]] || fail "nothing built in $cache: kube-lab build"
	[[ -e $lab/pid ]] && fail "$lab is in use: kube-lab down"
	began=$(now_ms)

	mkdir -p "$lab"/{pid,log,command,etcd}
	chmod 711 "$lab" # PostgreSQL, as another user, must get through
	chmod 700 "$lab"/{pid,log,etcd}
	echo "$nodes" >"$lab/nodes"
	trap 'say "kube-lab: start failed; what it left is in $lab (kube-lab down removes it)"' ERR
	if ((nodes)); then api_address=$host_address; else api_address=127.0.0.1; fi
	echo "$api_address" >"$lab/api-address"

	if ((nodes)); then network_up; fi
	secrets
	control_up
	# A node's mounts and containerd need no API server yet: they start while it does.
	for ((n = 1; n <= nodes; n++)); do node_boot "node$n"; done
	wait_for "the API server" api_ready || return 1
	controllers_up # on a busy machine they would not wait long enough for it
	say "API server ready after $(($(now_ms) - began)) ms"

	for ((n = 1; n <= nodes; n++)); do node_join "node$n"; done
	for ((n = 1; n <= nodes; n++)); do node_wait "node$n"; done
	wait_for "the default service account" kubectl get serviceaccount default || return 1
	trap - ERR
	say "up after $(($(now_ms) - began)) ms: export KUBECONFIG=$lab/admin.kubeconfig"
}

kubectl() { "$bin/kubectl" --kubeconfig "$lab/admin.kubeconfig" "$@"; }

api_ready() {
	[[ $(curl -s --max-time 2 --noproxy '*' --cacert "$lab/pki/ca.crt" "https://$api_address:$api_port/readyz") == ok ]]
}

control_up() {
	local pki=$lab/pki
	# No fsync: a lab's data need not survive a power cut.
	launch etcd "$bin/etcd" --name lab --data-dir "$lab/etcd" --unsafe-no-fsync --log-level warn \
		--listen-client-urls "http://127.0.0.1:$etcd_port" --advertise-client-urls "http://127.0.0.1:$etcd_port" \
		--listen-peer-urls "http://127.0.0.1:$etcd_peer_port" --initial-advertise-peer-urls "http://127.0.0.1:$etcd_peer_port" \
		--initial-cluster "lab=http://127.0.0.1:$etcd_peer_port"

	local advertise=(--advertise-address "$host_address")
	# Loopback may not be advertised to pods, and without nodes there are none.
	[[ $api_address == 127.* ]] && advertise+=(--endpoint-reconciler-type none)
	launch kube-apiserver "$bin/kube-apiserver" \
		--etcd-servers "http://127.0.0.1:$etcd_port" \
		--bind-address "$api_address" --secure-port "$api_port" "${advertise[@]}" \
		--service-cluster-ip-range "$service_range" \
		--tls-cert-file "$pki/apiserver.crt" --tls-private-key-file "$pki/apiserver.key" --client-ca-file "$pki/ca.crt" \
		--token-auth-file "$lab/tokens.csv" --authorization-mode Node,RBAC --enable-admission-plugins NodeRestriction \
		--service-account-issuer https://kubernetes.default.svc.cluster.local \
		--service-account-key-file "$pki/service-account.pub" --service-account-signing-key-file "$pki/service-account.key" \
		--kubelet-client-certificate "$pki/to-kubelets.crt" --kubelet-client-key "$pki/to-kubelets.key" \
		--kubelet-preferred-address-types InternalIP \
		--default-not-ready-toleration-seconds "$node_grace" --default-unreachable-toleration-seconds "$node_grace" \
		--allow-privileged=true --profiling=false
}

controllers_up() {
	# Kubernetes gives a silent node 50 s and its pods 5 minutes. A test has not got that long.
	launch kube-controller-manager "$bin/kube-controller-manager" \
		--kubeconfig "$lab/controller-manager.kubeconfig" --use-service-account-credentials --secure-port 0 --leader-elect=false \
		--kube-api-qps 1000 --kube-api-burst 1000 \
		--root-ca-file "$lab/pki/ca.crt" --service-account-private-key-file "$lab/pki/service-account.key" \
		--flex-volume-plugin-dir "$lab/flex" \
		--node-monitor-period 2s --node-monitor-grace-period "${node_grace}s" --profiling=false
	launch kube-scheduler "$bin/kube-scheduler" \
		--kubeconfig "$lab/scheduler.kubeconfig" --secure-port 0 --leader-elect=false --kube-api-qps 1000 --kube-api-burst 1000 --profiling=false
}

down() {
	[[ -e $lab ]] || { say "nothing at $lab"; return; }
	[[ -d $lab/pid ]] || fail "$lab is not a lab"
	local n
	for n in 1 2 3; do node_down "node$n"; done
	stores_down
	# Nothing they hold is to be kept, so nobody is asked to finish.
	for n in kube-scheduler kube-controller-manager kube-apiserver etcd; do stop "$n" KILL; done
	network_down
	rm -rf --one-file-system "$lab"
}

status() {
	[[ -d $lab/pid ]] || { say "no lab at $lab"; return 1; }
	local name pid
	for name in "$lab"/pid/*; do
		name=${name##*/}
		if pid=$(pid_of "$name"); then
			printf '%-24s pid %-7s %4d MB\n' "$name" "$pid" "$(($(awk '/^VmRSS/{print $2}' "/proc/$pid/status") / 1024))"
		else
			printf '%-24s dead\n' "$name"
		fi
	done
	cgroups_memory
	api_address=$(cat "$lab/api-address")
	api_ready && kubectl get nodes -o wide 2>/dev/null
}

environment() {
	cat <<-SH
		export KUBECONFIG=$lab/admin.kubeconfig
		export KUBE_LAB_DIR=$lab KUBE_LAB_CACHE=$cache KUBE_LAB_ID=$id
		export KUBE_LAB_HOST_ADDRESS=$host_address
		export KUBE_LAB_NODES=$(cat "$lab/nodes" 2>/dev/null || echo 0)
		export KUBEBUILDER_ASSETS=$bin
		export PATH=$bin:\$PATH
	SH
	stores_environment
}
