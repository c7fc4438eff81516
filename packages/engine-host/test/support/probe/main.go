// Command probe is all the programs of the test image in one: true, echo, cat, what looks for ways out and for limits, and what uses the network.
package main

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

func main() {
	name, args := filepath.Base(os.Args[0]), os.Args[1:]
	if name == "probe" && len(args) > 0 {
		name, args = args[0], args[1:]
	}
	switch name {
	case "true":
	case "echo":
		fmt.Println(strings.Join(args, " "))
	case "cat":
		cat(args)
	case "facts":
		facts()
	case "inotify":
		takeInotify()
	case "kernel":
		kernel()
	case "hog":
		hog(0)
	case "hog-slowly":
		hog(10 * time.Millisecond)
	case "hog-bomb":
		hogBomb()
	case "fill-tmpfs":
		fillTmpfs(args[0])
	case "disk-cache":
		diskCache(args[0])
	case "forks":
		forks()
	case "fill":
		fill(args[0])
	case "spin":
		spin()
	case "mapped":
		mapped(args[0])
	case "zeros":
		zeros()
	case "draw":
		draw()
	case "traffic":
		traffic(args[0], args[1:])
	default:
		fmt.Fprintln(os.Stderr, "no such program:", name)
		os.Exit(127)
	}
}

func cat(paths []string) {
	if len(paths) == 0 {
		io.Copy(os.Stdout, os.Stdin)
	}
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		io.Copy(os.Stdout, file)
	}
}

// draw answers every line with random bytes, as a process does that lives for long.
func draw() {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		b := make([]byte, 16)
		rand.Read(b)
		fmt.Printf("%x\n", b)
	}
}

// zeros fills 64 MiB with other bytes than zero and says so. At the first line of input it clears
// all pages except every 16th. After each line it reports how many pages hold other bytes than those.
func zeros() {
	const page, pages = 4096, 16384
	memory := make([]byte, pages*page)
	for i := range memory {
		memory[i] = 0xa5
	}
	fmt.Println("full")
	cleared := false
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); cleared = true {
		wrong := 0
		for at := 0; at < pages; at++ {
			part := memory[at*page : (at+1)*page]
			expected := byte(0)
			if at%16 == 0 {
				expected = 0xa5
			} else if !cleared {
				clear(part)
			}
			if bytes.Count(part, []byte{expected}) != page {
				wrong++
			}
		}
		fmt.Println("wrong pages:", wrong)
	}
}

// mapped writes to a file through shared memory.
func mapped(path string) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		var b []byte
		if b, err = syscall.Mmap(int(file.Fd()), 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED); err == nil {
			copy(b[100:], "mapped")
			err = syscall.Munmap(b)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// hogBomb starts processes that take memory, each of which does the same, and takes memory itself.
func hogBomb() {
	for range 2 {
		time.Sleep(20 * time.Millisecond)
		_ = exec.Command("/proc/self/exe", "hog-bomb").Start() // at the limit of processes it does without
	}
	hog(10 * time.Millisecond)
}

// fillTmpfs mounts a large file system in memory and writes to it until it is stopped.
func fillTmpfs(dir string) {
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		err = syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4g")
	}
	file, openErr := os.Create(filepath.Join(dir, "big"))
	if err != nil || openErr != nil {
		fmt.Println(err, openErr)
		os.Exit(1)
	}
	block := make([]byte, 1<<20)
	for {
		if _, err := file.Write(block); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
}

// diskCache writes a file of 512 MiB and reads it.
func diskCache(path string) {
	file, err := os.Create(path)
	block := make([]byte, 1<<20)
	for at := 0; at < 512 && err == nil; at++ {
		_, err = file.Write(block)
	}
	var read int64
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	for err == nil {
		var n int
		n, err = file.Read(block)
		read += int64(n)
	}
	fmt.Println(read>>20, err)
}

// hog takes memory, and uses it, until it is stopped. It pauses after each 8 MiB.
func hog(pause time.Duration) {
	var held [][]byte
	for {
		block := make([]byte, 8<<20)
		for i := 0; i < len(block); i += 4096 {
			block[i] = 1
		}
		held = append(held, block)
		time.Sleep(pause)
		fmt.Println(len(held) * 8)
	}
}

// forks makes processes of one thread each until it may not, says how many there are, and ends them. They are bare forks: a Go program ends by itself where it
// cannot have a second thread, and would make room for the next.
func forks() {
	var children []int
	for len(children) < 10_000 {
		pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
		if errno != 0 {
			break
		}
		if pid == 0 {
			for {
				syscall.RawSyscall6(syscall.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
			}
		}
		children = append(children, int(pid))
	}
	fmt.Println(len(children))
	for _, pid := range children {
		syscall.Kill(pid, syscall.SIGKILL)
		syscall.Wait4(pid, nil, 0, nil)
	}
}

// fill writes until the disk is full, twice with a removal between, and says how many MiB went in and how each end was called.
func fill(path string) {
	for range 2 {
		written, err := fillOnce(path)
		fmt.Println(written>>20, err == syscall.ENOSPC, err)
		os.Remove(path)
	}
}

func fillOnce(path string) (int64, error) {
	fd, err := syscall.Open(path, syscall.O_CREAT|syscall.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	defer syscall.Close(fd)
	block := make([]byte, 1<<20)
	for i := range block {
		block[i] = byte(i * 7)
	}
	var written int64
	for {
		n, err := syscall.Write(fd, block)
		if err != nil {
			return written, err
		}
		written += int64(n)
	}
}

// spin keeps four threads busy for three seconds.
func spin() {
	runtime.GOMAXPROCS(4)
	end := time.Now().Add(3 * time.Second)
	done := make(chan bool)
	for range 4 {
		go func() {
			for n := 0; ; n++ {
				if n%100_000 == 0 && time.Now().After(end) {
					done <- true
					return
				}
			}
		}()
	}
	for range 4 {
		<-done
	}
}
