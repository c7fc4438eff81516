package test

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// A service that is newer than the guest would otherwise wait for a process that never ends.
func TestUnknownVerbEndsAtOnce(t *testing.T) {
	cmd := exec.Command(guestBinary, "contain-more", "--place=/mnt")
	var words strings.Builder
	cmd.Stderr = &words
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(words.String(), `unknown verb "contain-more"`) {
		t.Fatalf("%v: %s", err, words.String())
	}
}
