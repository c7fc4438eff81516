// Package etc reads and replaces configuration files of an image, whose content is untrusted.
package etc

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ReadRegular reads a file, which must be regular and have at most limit bytes.
func ReadRegular(path string, limit int64) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > limit {
		return nil, errors.New("not a small regular file; left as it is")
	}
	return io.ReadAll(io.LimitReader(file, limit))
}

// Replace replaces a file of the image atomically. It replaces a symlink instead of following it.
// If the file is a mount point, it overwrites the content instead. It remembers the old file for
// Overrides.
func Replace(path string, content []byte, mode os.FileMode) error {
	return ReplacePart(path, content, mode, nil)
}

// ReplacePart replaces a file that belongs to the guest only in part. strip removes that part, also
// after other programs have written to the file.
func ReplacePart(path string, content []byte, mode os.FileMode, strip Strip) error {
	path = real(path)
	remember(path, content, strip)
	if holds(path, content, mode) {
		return nil
	}
	defer settled(path)
	return KeepTimes(filepath.Dir(path), func() error { return replace(path, content, mode) })
}

// holds returns true if a file already has this content, mode and owner. An unchanged file is not
// written again.
func holds(path string, content []byte, mode os.FileMode) bool {
	now, err := look(path)
	if err != nil || now.Absent || !bytes.Equal(now.Content, content) {
		return false
	}
	return now.Stat.Mode == unix.S_IFREG|uint32(mode.Perm()) && now.Stat.Uid == 0 && now.Stat.Gid == 0
}

func replace(path string, content []byte, mode os.FileMode) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	file, err := os.CreateTemp(dir, ".holt-")
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err == nil {
		err = file.Chmod(mode)
	}
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err == nil {
		return nil
	}
	_ = os.Remove(file.Name()) // a temporary file that was not renamed
	if errors.Is(err, unix.EBUSY) {
		return overwrite(path, content)
	}
	return err
}

func overwrite(path string, content []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return errors.New("the mount there is not a regular file")
	}
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err = file.Write(content)
	return err
}
