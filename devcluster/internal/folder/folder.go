// Package folder knows what lies where in the folder of a devcluster, and that
// only one process serves from it. [Open] is the place to start.
package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
)

const (
	// socketLimit is the longest path of a unix socket: 103 bytes on macOS and
	// BSD, 107 on Linux.
	socketLimit = 103

	longestSocketName = "client.sock"

	// No system gives these ports to those who connect somewhere, or who do not
	// care at which they listen: a server that is down for a moment finds its
	// own free again.
	firstPort, lastPort = 10000, 30000
)

// plain are the paths that survive being part of an etcd URL unescaped.
var plain = regexp.MustCompile(`^[A-Za-z0-9/._-]+$`)

// Folder is the folder of one devcluster, an absolute path.
type Folder string

// PKI is the folder of the certificates.
func (f Folder) PKI() string { return f.path("pki") }

// Etcd is the folder of etcd's data.
func (f Folder) Etcd() string { return f.path("etcd") }

// Kubeconfig is the path of the administrator's kubeconfig.
func (f Folder) Kubeconfig() string { return f.path("kubeconfig") }

// APIServerLog is the path of the API server's and the controllers' log.
func (f Folder) APIServerLog() string { return f.path("kube-apiserver.log") }

// EtcdLog is the path of etcd's log.
func (f Folder) EtcdLog() string { return f.path("etcd.log") }

// AuditPolicy is the path of what says which requests are noted.
func (f Folder) AuditPolicy() string { return f.path("audit-policy.yaml") }

// AuditLog is the path of the requests that were noted.
func (f Folder) AuditLog() string { return f.path("audit.log") }

// Heartbeat is the path of the file whose modification time users renew.
func (f Folder) Heartbeat() string { return f.path("heartbeat") }

func (f Folder) path(name string) string { return filepath.Join(string(f), name) }

// Lock is the right to serve from a folder. The system takes it back when the
// process ends, however it ends.
type Lock struct{ file *os.File }

// Open makes the folder if it is missing and takes its lock. It refuses a
// folder that another process serves from, that cannot be written, or that
// holds something else.
func Open(dir string) (Folder, *Lock, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", nil, fmt.Errorf("cannot use folder %s: %w", dir, err)
	}
	f := Folder(dir)
	if err := f.check(); err != nil {
		return "", nil, err
	}
	lock, err := f.lock()
	if err != nil {
		return "", nil, err
	}
	for _, sub := range []string{dir, f.PKI(), f.Etcd()} {
		// Chmod, because MkdirAll leaves the mode of a folder that is there.
		if err := errors.Join(os.MkdirAll(sub, 0o700), os.Chmod(sub, 0o700)); err != nil {
			_ = lock.Close()
			return "", nil, f.cannotWrite(err)
		}
	}
	return f, lock, nil
}

// check returns an error for a folder with other files, which must not be mixed up with the data
// or removed with it.
func (f Folder) check() error {
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return f.cannotWrite(err)
	}
	entries, err := os.ReadDir(string(f))
	if err != nil {
		return fmt.Errorf("cannot read folder %s: %w", f, err)
	}
	if _, err := os.Lstat(f.path("lock")); len(entries) > 0 && err != nil {
		return fmt.Errorf("folder %s is not empty and was not made by devcluster; choose another one with --dir", f)
	}
	return nil
}

func (f Folder) cannotWrite(err error) error {
	return fmt.Errorf("cannot write to folder %s: %w; choose another one with --dir", f, err)
}

func (f Folder) lock() (*Lock, error) {
	file, err := os.OpenFile(f.path("lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, f.cannotWrite(err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		err = file.Truncate(0)
	}
	if err == nil {
		_, err = file.WriteString(strconv.Itoa(os.Getpid()) + "\n")
	}
	if err == nil {
		return &Lock{file: file}, nil
	}
	defer file.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		pid, _ := os.ReadFile(f.path("lock"))
		return nil,
			fmt.Errorf(
				"folder %s is in use by another devcluster (process %s); use that one (KUBECONFIG=%s), stop it, or choose "+
					"another folder with --dir",
				f, strings.TrimSpace(string(pid)), f.Kubeconfig())
	}
	return nil, fmt.Errorf("cannot lock folder %s: %w", f, err)
}

// Close releases the folder.
func (l *Lock) Close() error { return l.file.Close() }

// Port returns the port that the folder was last served on, or 0.
func (f Folder) Port() (int, error) {
	content, err := os.ReadFile(f.path("port"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("cannot read port: %w", err)
	}
	port, err := strconv.ParseUint(strings.TrimSpace(string(content)), 10, 16)
	if err != nil {
		return 0, fmt.Errorf("file %s does not hold a port; remove it to get a new one", f.path("port"))
	}
	return int(port), nil
}

// Listen listens on 127.0.0.1 and remembers the port. If port is 0, it takes
// the one that was used last, so that kubeconfigs stay valid, or any free one.
func (f Folder) Listen(port int) (net.Listener, error) {
	if port == 0 {
		last, err := f.Port()
		if err != nil {
			return nil, err
		}
		port = last
	}
	listener, err := listen(port)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil,
			fmt.Errorf(
				"port %d of folder %s is taken by another program; stop that, or choose another port with --port (kubeconfigs "+
					"issued so far name the old one)", port, f)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot listen on 127.0.0.1: %w", err)
	}
	port = listener.Addr().(*net.TCPAddr).Port
	if err := os.WriteFile(f.path("port"), []byte(strconv.Itoa(port)+"\n"), 0o600); err != nil {
		_ = listener.Close()
		return nil, f.cannotWrite(err)
	}
	return listener, nil
}

// listen listens on a port, or if that is 0 on any free one.
func listen(port int) (net.Listener, error) {
	for tries := 0; port == 0 && tries < 100; tries++ {
		if l, err := listen(firstPort + rand.IntN(lastPort-firstPort)); err == nil {
			return l, nil
		}
	}
	return net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
}

// Sockets returns a folder for unix sockets, and what removes it. It is the
// folder itself, unless that is too long for a socket or has characters that
// mean something in a URL: then it is a temporary one.
func (f Folder) Sockets() (dir string, remove func() error, err error) {
	// What a process that was killed has left.
	if left, err := os.ReadFile(f.path("sockets")); err == nil {
		_ = os.RemoveAll(string(left))
		_ = os.Remove(f.path("sockets"))
	}
	if len(f.path(longestSocketName)) <= socketLimit && plain.MatchString(string(f)) {
		return string(f), func() error { return nil }, nil
	}
	for _, base := range []string{os.TempDir(), "/tmp"} {
		dir, err = os.MkdirTemp(base, "devcluster-")
		if err != nil {
			continue
		}
		if len(filepath.Join(dir, longestSocketName)) <= socketLimit && plain.MatchString(dir) {
			err = os.WriteFile(f.path("sockets"), []byte(dir), 0o600)
			return dir, func() error { return errors.Join(os.RemoveAll(dir), os.Remove(f.path("sockets"))) }, err
		}
		_ = os.RemoveAll(dir)
		err = fmt.Errorf("%s is too long", base)
	}
	return "", nil, fmt.Errorf("cannot make a folder for sockets: %w", err)
}
