// Probe prints what it sees below a directory: one line of JSON per path, sorted by path.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

type seen struct {
	Path   string `json:"path"`
	Mode   uint32 `json:"mode"`
	Uid    uint32 `json:"uid"`
	Gid    uint32 `json:"gid"`
	Mtime  int64  `json:"mtimeSecs"`
	Size   int64  `json:"size"`
	Target string `json:"target"`
	Sha256 string `json:"sha256"`
	Error  string `json:"error"`
}

func main() {
	out := json.NewEncoder(os.Stdout)
	filepath.Walk(os.Args[1], func(path string, info os.FileInfo, err error) error {
		line := seen{Path: hex.EncodeToString([]byte(path))}
		if err != nil {
			line.Error = err.Error()
			out.Encode(line)
			return nil
		}
		stat := info.Sys().(*syscall.Stat_t)
		line.Mode, line.Uid, line.Gid, line.Mtime = stat.Mode, stat.Uid, stat.Gid, stat.Mtim.Sec
		switch stat.Mode & syscall.S_IFMT {
		case syscall.S_IFREG:
			line.Size = stat.Size
			content, err := os.ReadFile(path)
			line.Sha256 = fmt.Sprintf("%x", sha256.Sum256(content))
			if err != nil {
				line.Error = err.Error()
			}
		case syscall.S_IFLNK:
			target, err := os.Readlink(path)
			line.Target = hex.EncodeToString([]byte(target))
			if err != nil {
				line.Error = err.Error()
			}
		}
		out.Encode(line)
		return nil
	})
}
