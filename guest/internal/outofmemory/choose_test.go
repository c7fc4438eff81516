package outofmemory

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
)

func startProgram(t *testing.T, score int) int {
	t.Helper()
	program := exec.Command("sleep", "600")
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = program.Process.Kill()
		_ = program.Wait()
	})
	pid := program.Process.Pid
	if err := os.WriteFile("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", []byte(strconv.Itoa(score)), 0); err != nil {
		t.Fatal(err)
	}
	return pid
}

func TestAProgramWithAHigherScoreIsChosenBeforeALargerOne(t *testing.T) {
	self, small := os.Getpid(), startProgram(t, MaxScore)
	own, ok := weigh(self, 0)
	if !ok {
		t.Fatal("this process has no memory")
	}
	// The processes hold more than half of this limit.
	chosen, inFiles := Choose([]int{self, small}, Need{LimitKiB: 2 * own.ResidentKiB})
	var pids []int
	for _, victim := range chosen {
		pids = append(pids, victim.Pid)
	}
	if want := []int{small, self}; !slices.Equal(pids, want) || inFiles {
		t.Errorf("%v in files: %t, want %v", pids, inFiles, want)
	}
}
