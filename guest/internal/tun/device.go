// Package tun makes network devices. A program reads and writes their packets.
package tun

import (
	"fmt"
	"net"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"
)

// Device describes a tun device.
type Device struct {
	Name    string
	Address netip.Addr // its own, IPv4
	MTU     int
}

// Check refuses an invalid device.
func (d Device) Check() error {
	switch {
	case d.Name == "" || len(d.Name) >= unix.IFNAMSIZ:
		return fmt.Errorf("name %q: 1 to %d bytes", d.Name, unix.IFNAMSIZ-1)
	case !d.Address.Is4() || d.Address.IsUnspecified():
		return fmt.Errorf("address %q: an IPv4 address", d.Address)
	case d.MTU < 576 || d.MTU > 65_535:
		return fmt.Errorf("mtu %d: 576 to 65535", d.MTU)
	}
	return nil
}

// Create makes the device in the network namespace of the calling thread, with its address and the
// default route. It returns a non-blocking descriptor. The device is removed when its last
// descriptor is closed.
func Create(d Device) (fd int, err error) {
	if err := d.Check(); err != nil {
		return -1, err
	}
	fd, err = unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: "/dev/net/tun", Err: err}
	}
	if err := d.setUp(fd); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func (d Device) setUp(fd int) error {
	request, err := unix.NewIfreq(d.Name)
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		return fmt.Errorf("TUNSETIFF: %w", err)
	}
	// Without an IPv6 address, IPv6 connections of programs fail at once. gVisor assigns no
	// address, and has no such file.
	_ = os.WriteFile("/proc/sys/net/ipv6/conf/"+d.Name+"/disable_ipv6", []byte("1"), 0)
	device, err := net.InterfaceByName(d.Name)
	if err != nil {
		return err
	}
	link, err := openNetlink()
	if err != nil {
		return err
	}
	defer link.close()
	index := uint32(device.Index)
	if err := link.setUp(index, uint32(d.MTU)); err != nil {
		return fmt.Errorf("link: %w", err)
	}
	if err := link.addDefaultRoute(index); err != nil {
		return fmt.Errorf("route: %w", err)
	}
	if err := link.addAddress(index, d.Address); err != nil {
		return fmt.Errorf("address: %w", err)
	}
	return nil
}
