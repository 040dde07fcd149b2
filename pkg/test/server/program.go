package server

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// A Program describes a server that is started as a process. The zero value is no server: see Program.IsZero.
type Program struct {
	// Name of the program in the PATH, or its path. The program may be a script that starts the server, if the server
	// stays in the process group of the script. When the script ends, the server ends.
	Name string

	// Install says how to install the program. Errors contain it if the program does not exist.
	Install string

	// Args returns the arguments of a server at a place. Nil means none.
	Args func(at Place) []string

	// Prepare runs before the server starts, for instance to write files into the folder, or to create a data folder
	// by Place.Run. Nil means that nothing is to be prepared.
	Prepare func(ctx context.Context, at Place) error

	// Answers returns nil as soon as the server answers. It is called until then, each time with a second. Nil waits
	// until the server accepts connections.
	Answers func(ctx context.Context, at Place) error

	// Users are names of users. If this process runs as root, the server runs as the first of them that exists, and the
	// folder belongs to that user. Without users the server runs as this process does.
	Users []string

	// Patience is the time in which the server has to answer after its start. The default is a minute.
	Patience time.Duration

	grace time.Duration // until the server is killed, of tests
}

// IsZero reports whether there is no server.
func (p Program) IsZero() bool { return p.Name == "" }

// A Place is where a server runs.
type Place struct {
	// Dir is a new folder, which is removed when the server ends.
	Dir string

	// Host and Port are the address of the server.
	Host, Port string

	as *syscall.SysProcAttr
}

// Address returns the host and the port.
func (p Place) Address() string { return net.JoinHostPort(p.Host, p.Port) }

// Run runs a program to its end, in the folder and as the user of the server. Its error has the output of the program.
func (p Place) Run(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.SysProcAttr = p.Dir, p.as
	out, err := cmd.CombinedOutput()

	return errors.Wrapf(err, "%s failed: %s", filepath.Base(name), bytes.TrimSpace(out))
}

// place returns a new folder for a server at an address.
func (p Program) place(address string) (at Place, err error) {
	if at.Host, at.Port, err = net.SplitHostPort(address); err != nil {
		return Place{}, errors.Wrap(err, "the address of the server needs a host and a port")
	}
	uid, gid, err := p.account()
	if err != nil {
		return Place{}, err
	}
	if at.Dir, err = os.MkdirTemp("", "server-"); err != nil {
		return Place{}, errors.Wrap(err, "cannot create a folder for the server")
	}
	at.as = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the program that started the server
	if uid >= 0 {
		at.as.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(at.Dir, uid, gid); err != nil {
			_ = os.RemoveAll(at.Dir)

			return Place{}, errors.Wrap(err, "cannot give the folder to the user of the server")
		}
	}

	return at, nil
}

// limit returns the time that the server has to end.
func (p Program) limit() time.Duration {
	if p.grace > 0 {
		return p.grace
	}

	return grace
}

// account returns the user that the server runs as, or -1 for that of this process.
func (p Program) account() (uid, gid int, err error) {
	if len(p.Users) == 0 || os.Getuid() != 0 {
		return -1, -1, nil
	}
	for _, name := range p.Users {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.Atoi(u.Uid)
		if err != nil {
			return 0, 0, errors.Wrapf(err, "the user %s has no number", name)
		}
		gid, err := strconv.Atoi(u.Gid)

		return uid, gid, errors.Wrapf(err, "the group of the user %s has no number", name)
	}

	return 0, 0, errors.Errorf("none of the users %q exists, and %s does not run as root", p.Users, p.Name)
}
