// Package network connects a runtime to the host: the packets of a tun device go to a user-space
// stack. Each TCP connection becomes a stream to the host, and each DNS query a message. All other
// traffic is refused at once.
package network

import (
	"context"
	"fmt"
	"net/netip"
	"sync"

	"holt.dev/guest/internal/egress"
	"holt.dev/guest/internal/etc"
	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/trust"
	"holt.dev/guest/internal/tun"
)

const (
	deviceName = "tun0"
	// maxCertificates and maxCertificateBytes limit the certificates for the trust stores.
	maxCertificates     = 16
	maxCertificateBytes = 64 << 10
)

// Config describes the network of a runtime.
type Config struct {
	Resolver       string   `json:"resolver"`
	Address        string   `json:"address"`
	MTU            int      `json:"mtu"`
	Tun            string   `json:"tun"`
	CACertificates []string `json:"ca_certificates"`
}

// Check refuses an invalid config.
func (c *Config) Check() error {
	invalid := func(format string, args ...any) error {
		return fault.New(fault.InvalidRequest, "network: "+format, args...)
	}
	resolver, err := netip.ParseAddr(c.Resolver)
	if err != nil || !resolver.Is4() {
		return invalid("resolver: an IPv4 address")
	}
	device, err := c.device()
	if err == nil {
		err = device.Check()
	}
	switch {
	case err != nil:
		return invalid("%s", err)
	case device.Address == resolver:
		return invalid("resolver: not the runtime's own address")
	case c.Tun != "create" && c.Tun != "socket":
		return invalid("tun: create or socket")
	case len(c.CACertificates) > maxCertificates:
		return invalid("ca_certificates: at most %d", maxCertificates)
	}
	for _, certificate := range c.CACertificates {
		if len(certificate) > maxCertificateBytes {
			return invalid("ca_certificates: each at most %d bytes", maxCertificateBytes)
		}
		if err := trust.Check(certificate); err != nil {
			return invalid("ca_certificates: %s", err)
		}
	}
	return nil
}

func (c *Config) device() (tun.Device, error) {
	address, err := netip.ParseAddr(c.Address)
	return tun.Device{Name: deviceName, Address: address, MTU: c.MTU}, err
}

// Network is the network of a runtime and its config.
type Network struct {
	egressSocket, tunSocket string

	mu       sync.Mutex
	config   *Config
	running  *running
	resolver resolver
	trusted  trust.Store
	env      map[string]string
}

// New returns the network of a runtime, without a config. The arguments are the paths of the host's
// sockets.
func New(egressSocket, tunSocket string) *Network {
	return &Network{egressSocket: egressSocket, tunSocket: tunSocket}
}

// Set configures the network of the runtime, or removes it. It first stops the earlier network, and
// resets its connections. It returns true if there is a network now, and the settings that could
// not be applied.
func (n *Network) Set(config *Config) (holds bool, problems []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	problems = []string{}
	try := func(what string, err error) bool {
		if err != nil {
			problems = append(problems, what+": "+err.Error())
		}
		return err == nil
	}
	n.stop()
	n.config = config
	var certificates []string
	if config != nil {
		certificates = config.CACertificates
	}
	env, troubles := n.trusted.Set(certificates)
	n.env = env
	for _, err := range troubles {
		try("ca_certificates", err)
	}
	if config == nil {
		try("/etc/resolv.conf", n.resolver.restore())
		return false, problems
	}
	if !try("tun", n.start()) {
		try("/etc/resolv.conf", n.resolver.restore())
		return false, problems
	}
	try("/etc/resolv.conf", n.resolver.point(config.Resolver))
	return true, problems
}

// Suspend closes the device and the connections to the host before a checkpoint. Programs inside
// see a reset.
func (n *Network) Suspend() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stop()
}

// Resume restarts the network after Suspend. A device from the host exists only if the host has
// prepared one. Otherwise the network stays down until the host configures it again.
func (n *Network) Resume() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.config == nil || n.running != nil {
		return nil
	}
	return n.start()
}

// Traces returns the network's changes to the tree, for an image that is made of it. absent are
// names to leave out, changed are files without the changes, and moved maps the temporary name of
// another file to its own.
func (n *Network) Traces(known []etc.Override) (absent []string, changed []etc.Override, moved map[string]string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	absent, changed = n.trusted.Traces(known)
	if kept, waits := n.resolver.kept(); waits {
		return absent, changed, map[string]string{kept: resolvConf}
	}
	return append(absent, resolvKept), changed, nil
}

// Env returns the environment variables for commands while the runtime has additional certificates.
func (n *Network) Env() map[string]string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.env
}

// start must be called with the lock held.
func (n *Network) start() error {
	device, err := n.config.device()
	if err != nil {
		return err
	}
	fd, err := n.open(device)
	if err != nil {
		return err
	}
	n.running, err = run(fd, device, egress.New(n.egressSocket))
	return err
}

func (n *Network) open(device tun.Device) (int, error) {
	if n.config.Tun == "create" {
		return tun.Create(device)
	}
	fd, err := tun.Fetch(context.Background(), n.tunSocket)
	if err != nil {
		return -1, fmt.Errorf("fetch: %w", err)
	}
	return fd, nil
}

// stop must be called with the lock held.
func (n *Network) stop() {
	if n.running != nil {
		n.running.stop()
		n.running = nil
	}
}
