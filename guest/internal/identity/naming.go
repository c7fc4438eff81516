package identity

import (
	"bytes"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/etc"
)

const (
	machineIDFile = "/etc/machine-id"
	// dbusMachineIDFile is a symlink to machineIDFile, unless an older D-Bus has written it
	// (dbus-uuidgen(1)).
	dbusMachineIDFile = "/var/lib/dbus/machine-id"
	hostnameFile      = "/etc/hostname"
	hostsFile         = "/etc/hosts"
	// maxHostsBytes limits a file that an image contains.
	maxHostsBytes = 64 << 10
)

// Names identify a runtime to others.
type Names struct {
	Hostname    string `json:"hostname"`
	MachineID   string `json:"machine_id"`
	SetHostname bool   `json:"set_hostname"`
}

// name gives the runtime its names, and removes the earlier ones. It keeps names that a seed has
// already set, and the keys that were made then. It returns true if the kernel's hostname was set.
func (s *State) name(wanted Names, try func(what string, err error) bool) (hostname bool) {
	// The kernel's name comes first, because /etc/hosts also contains it if it differs.
	hostname = wanted.SetHostname && try("hostname", unix.Sethostname([]byte(wanted.Hostname)))
	if s.seeded == nil || s.seeded.Hostname != wanted.Hostname {
		s.nameHost(wanted.Hostname, try)
	}
	if s.seeded == nil || s.seeded.MachineID != wanted.MachineID {
		nameMachine(wanted.MachineID, try)
	}
	if s.seeded == nil {
		s.renewHostKeys(wanted.Hostname, try)
	}
	return hostname
}

func (s *State) nameHost(hostname string, try func(what string, err error) bool) {
	try(hostnameFile, etc.Replace(hostnameFile, []byte(hostname+"\n"), 0o644))
	try(hostsFile, s.addHost(hostname))
}

func nameMachine(machineID string, try func(what string, err error) bool) {
	try(machineIDFile, etc.Replace(machineIDFile, []byte(machineID+"\n"), 0o444))
	if info, err := os.Lstat(dbusMachineIDFile); err == nil && info.Mode().IsRegular() {
		try(dbusMachineIDFile, etc.Replace(dbusMachineIDFile, []byte(machineID+"\n"), 0o444))
	}
}

// addHost makes the runtime's own name resolvable. It adds the kernel's name too if that cannot be
// set (class container), and localhost if the image has no hosts file. It removes earlier names.
func (s *State) addHost(hostname string) error {
	old, err := etc.ReadRegular(hostsFile, maxHostsBytes)
	if os.IsNotExist(err) {
		old, err = []byte("127.0.0.1\tlocalhost\n::1\tlocalhost\n"), nil
	}
	if err != nil {
		return err
	}
	names := hostname
	if kernel := kernelName(); kernel != hostname && isLabel(kernel) && kernel != "localhost" {
		names += " " + kernel
	}
	line := fmt.Appendf(nil, "127.0.1.1\t%s\n", names)
	if !slices.ContainsFunc(s.hostLines, func(known []byte) bool { return bytes.Equal(known, line) }) {
		s.hostLines = append(s.hostLines, line)
	}
	strip := withoutLines(slices.Clone(s.hostLines))
	content := strip(old)
	if len(content) > 0 && !bytes.HasSuffix(content, []byte("\n")) {
		content = append(content, '\n')
	}
	return etc.ReplacePart(hostsFile, append(content, line...), 0o644, strip)
}

// kernelName returns the output of uname -n, or "" after an error.
func kernelName() string {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return ""
	}
	return unix.ByteSliceToString(name.Nodename[:])
}

// withoutLines returns a function that removes each of these lines once.
func withoutLines(lines [][]byte) etc.Strip {
	return func(content []byte) []byte {
		content = bytes.Clone(content)
		for _, line := range lines {
			content = bytes.Replace(content, line, nil, 1)
		}
		return content
	}
}
