package supervise

import "testing"

func TestTheKernelKillsIdleSupervisorsFirstAndTheGuestLast(t *testing.T) {
	for guest, want := range map[int][3]int{
		-1000: {-1000, 0, -1000}, 0: {250, 500, 550}, 100: {350, 600, 650}, 700: {950, 1000, 1000}, 1000: {1000, 1000, 1000},
	} {
		got := [3]int{scoreBeside(guest, busyScore), scoreBeside(guest, commandScore), scoreBeside(guest, idleScore)}
		if got != want {
			t.Errorf("%d: %d, want %d", guest, got, want)
		}
	}
}
