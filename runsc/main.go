// Command runsc is gVisor's runner, built from the version that go.mod pins.
package main

import "gvisor.dev/gvisor/runsc/cli/maincli"

func main() {
	maincli.Main()
}
