// Package fault is the catalogue of errors that the guest returns.
package fault

import (
	"errors"
	"fmt"
	"syscall"
)

// Code is one of the protocol's error codes. statuses has its HTTP status.
type Code string

const (
	InvalidRequest       Code = "invalid_request"
	InvalidPath          Code = "invalid_path"
	InvalidArchive       Code = "invalid_archive"
	IsDirectory          Code = "is_directory"
	NotADirectory        Code = "not_a_directory"
	NotAFile             Code = "not_a_file"
	SymlinkLoop          Code = "symlink_loop"
	PathPermissionDenied Code = "path_permission_denied"
	PathNotFound         Code = "path_not_found"
	RouteNotFound        Code = "route_not_found"
	CommandNotFound      Code = "command_not_found"
	SessionNotFound      Code = "session_not_found"
	AlreadyExists        Code = "already_exists"
	DirectoryNotEmpty    Code = "directory_not_empty"
	Conflict             Code = "conflict"
	PreconditionFailed   Code = "precondition_failed"
	TooLarge             Code = "too_large"
	RangeNotSatisfiable  Code = "range_not_satisfiable"
	DigestMismatch       Code = "digest_mismatch"
	Internal             Code = "internal"
	PortNotListening     Code = "port_not_listening"
	DiskFull             Code = "disk_full"
)

var statuses = map[Code]int{
	InvalidRequest: 400, InvalidPath: 400, InvalidArchive: 400, IsDirectory: 400, NotADirectory: 400, NotAFile: 400, SymlinkLoop: 400,
	PathPermissionDenied: 403, PathNotFound: 404, RouteNotFound: 404, CommandNotFound: 404, SessionNotFound: 404,
	AlreadyExists: 409, DirectoryNotEmpty: 409, Conflict: 409, PreconditionFailed: 412, TooLarge: 413, RangeNotSatisfiable: 416, DigestMismatch: 422,
	Internal: 500, PortNotListening: 502, DiskFull: 507,
}

// Status returns the HTTP status of a code.
func (c Code) Status() int {
	if s, ok := statuses[c]; ok {
		return s
	}
	return 500
}

// Fault is an error with a code of the catalogue.
type Fault struct {
	Code    Code
	Message string
	Details map[string]any // facts for programs; nil if there are none
}

func (f *Fault) Error() string { return string(f.Code) + ": " + f.Message }

// New returns a fault with a formatted message.
func New(code Code, format string, args ...any) *Fault {
	return &Fault{Code: code, Message: fmt.Sprintf(format, args...)}
}

// With adds a fact for programs, and returns the fault.
func (f *Fault) With(name string, value any) *Fault {
	if f.Details == nil {
		f.Details = map[string]any{}
	}
	f.Details[name] = value
	return f
}

// Within returns the fault with what before its message.
func (f *Fault) Within(what string) *Fault {
	return &Fault{Code: f.Code, Message: what + ": " + f.Message, Details: f.Details}
}

// As returns the fault in err. Any other error becomes `internal`.
func As(err error) *Fault {
	var f *Fault
	if errors.As(err, &f) {
		return f
	}
	return &Fault{Code: Internal, Message: err.Error()}
}

var errnoCodes = map[syscall.Errno]Code{
	syscall.ENOENT: PathNotFound, syscall.ENOTDIR: NotADirectory, syscall.EISDIR: IsDirectory, syscall.ELOOP: SymlinkLoop,
	syscall.EACCES: PathPermissionDenied, syscall.EPERM: PathPermissionDenied, syscall.EROFS: PathPermissionDenied,
	syscall.ENAMETOOLONG: InvalidPath, syscall.EEXIST: AlreadyExists, syscall.ENOTEMPTY: DirectoryNotEmpty,
	syscall.EBUSY: InvalidRequest, syscall.ENOSPC: DiskFull, syscall.EDQUOT: DiskFull, syscall.EFBIG: TooLarge,
	syscall.ENXIO: NotAFile, syscall.ENODEV: NotAFile, syscall.ESTALE: Conflict, syscall.ETXTBSY: Conflict,
	syscall.EMLINK: Conflict, syscall.EIO: NotAFile, syscall.EINVAL: InvalidRequest,
}

// AtPath turns the error of a system call on path into a fault that names the path. It returns
// faults and nil unchanged.
func AtPath(path string, err error) error {
	if err == nil {
		return nil
	}
	var f *Fault
	if errors.As(err, &f) {
		return err
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		if code, ok := errnoCodes[errno]; ok {
			return New(code, "%s: %s", path, errno.Error())
		}
		return New(Internal, "%s: %s", path, errno.Error())
	}
	return New(Internal, "%s: %s", path, err.Error())
}
