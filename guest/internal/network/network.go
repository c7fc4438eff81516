// Package network gives a runtime its one way out: a tun device whose packets end in a user-space
// stack, each TCP connection becoming a stream to the host and each DNS query a message to it.
// Everything else is refused at once.
package network

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"holt.dev/guest/internal/egress"
	"holt.dev/guest/internal/etc"
	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/trust"
	"holt.dev/guest/internal/tun"
)

const (
	deviceName = "tun0"
	// maxCertificates and maxCertificateBytes bound what the trust stores are given.
	maxCertificates     = 16
	maxCertificateBytes = 64 << 10
)

// Config is the network that a runtime is to have.
type Config struct {
	Resolver       string   `json:"resolver"`
	Address        string   `json:"address"`
	MTU            int      `json:"mtu"`
	Tun            string   `json:"tun"`
	CACertificates []string `json:"ca_certificates"`
}

// Check refuses a config that makes no sense.
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

// Network is the network a runtime has, and what it is to be.
type Network struct {
	egressSocket, tunSocket string

	mu       sync.Mutex
	config   *Config
	running  *running
	resolver resolver
	trusted  trust.Store
	env      map[string]string
	lingered atomic.Int64 // when the last connection began to linger, in nanoseconds since 1970; 0 for never
}

// lingerTime is how long a connection stays in TIME-WAIT in gVisor, and a little more.
const lingerTime = 61 * time.Second

// Lingering is how long connections may still linger. gVisor ends them at a
// restore (release 20260701), or took no checkpoint for that time (up to 20240729).
func (n *Network) Lingering() time.Duration {
	return max(0, lingerTime-time.Since(time.Unix(0, n.lingered.Load())))
}

// New makes the network of a runtime that has none yet, beside the sockets of the host.
func New(egressSocket, tunSocket string) *Network {
	return &Network{egressSocket: egressSocket, tunSocket: tunSocket}
}

// Set gives the runtime this network, or none. What it had before goes first: connections are
// reset. It answers whether there is a network now, and what could not be applied.
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

// Suspend closes the device and the connections to the host, as before a checkpoint; programs
// inside see a reset.
func (n *Network) Suspend() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stop()
}

// Resume sets up again what Suspend has closed. Where the device comes from the host it is there
// only when the host has prepared one; else the network stays down until the host gives it again.
func (n *Network) Resume() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.config == nil || n.running != nil {
		return nil
	}
	return n.start()
}

// Traces answers what of the network is in the tree, for an image that is made of it: names that
// are none of it, files that are otherwise without, and the name under which another file waits
// meanwhile.
func (n *Network) Traces(known []etc.Override) (absent []string, changed []etc.Override, moved map[string]string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	absent, changed = n.trusted.Traces(known)
	if kept, waits := n.resolver.kept(); waits {
		return absent, changed, map[string]string{kept: resolvConf}
	}
	return append(absent, resolvKept), changed, nil
}

// Env is what commands find in their environment for as long as the runtime has certificates to
// trust.
func (n *Network) Env() map[string]string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.env
}

// start needs the lock.
func (n *Network) start() error {
	device, err := n.config.device()
	if err != nil {
		return err
	}
	fd, err := n.open(device)
	if err != nil {
		return err
	}
	n.running, err = run(fd, device, egress.New(n.egressSocket), func() { n.lingered.Store(time.Now().UnixNano()) })
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

// stop needs the lock.
func (n *Network) stop() {
	if n.running != nil {
		n.running.stop()
		n.running = nil
	}
}
