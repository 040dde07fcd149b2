// Package pgserver starts a throw-away PostgreSQL server, for tests and for local runs. Start with [Start].
package pgserver

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// Names and passwords of a server. The password of the provider occurs nowhere else, so that tests can look for it.
const (
	Superuser = "postgres"
	Provider  = "provider"
	Password  = "let-me-in-7f3a"
)

// Install says how to get PostgreSQL.
const Install = "on Debian and Ubuntu: apt-get install -y postgresql"

// Programs returns the folder with the programs of PostgreSQL: that of the variable PG_BINDIR, of pg_config, of
// postgres in the PATH, or of a package of Debian.
func Programs() (string, error) {
	candidates := []string{os.Getenv("PG_BINDIR")}
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		candidates = append(candidates, strings.TrimSpace(string(out)))
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		candidates = append(candidates, filepath.Dir(path))
	}
	debian, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the pattern is valid
	for _, dir := range append(candidates, debian...) {
		if dir == "" {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, "initdb")); err == nil {
			return dir, nil
		}
	}

	return "", errors.New("there is no PostgreSQL: " + Install)
}

// A Server is a running server. Use Start.
type Server struct {
	// Port on the loopback address.
	Port uint16

	// CA is the PEM-encoded certificate that the server shows for "localhost".
	CA string

	dir, programs string
	as            *syscall.SysProcAttr
	run           *exec.Cmd
	leash         io.WriteCloser

	mu   sync.Mutex
	kept map[string]*pgx.Conn // by database
}

// Host is the host name of each server.
const Host = "localhost"

// Start makes a server in a new folder and starts it. It has a role Provider, with CREATEDB and CREATEROLE, and a
// superuser Superuser, both with the password Password. Call Close at the end. If the process ends without that, the
// server ends too.
func Start(ctx context.Context) (*Server, error) {
	programs, err := Programs()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "pg-")
	if err != nil {
		return nil, errors.Wrap(err, "cannot make a folder for the server")
	}
	s := &Server{dir: dir, programs: programs, kept: map[string]*pgx.Conn{}}
	if err := s.start(ctx); err != nil {
		s.Close()

		return nil, err
	}

	return s, nil
}

func (s *Server) start(ctx context.Context) error {
	uid, gid, err := unprivileged()
	if err != nil {
		return err
	}
	s.as = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the program that started it
	if uid >= 0 {
		s.as.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	if s.CA, err = certificate(s.dir); err != nil {
		return err
	}
	secret := filepath.Join(s.dir, "password")
	if err := os.WriteFile(secret, []byte(Password), 0o600); err != nil {
		return errors.Wrap(err, "cannot write the password")
	}
	if err := s.own(uid, gid); err != nil {
		return err
	}
	if err := s.command("initdb", "-D", s.data(), "-U", Superuser, "-A", "scram-sha-256", "--pwfile", secret, "-E", "UTF8",
		"--locale=C", "--no-sync", "--no-instructions"); err != nil {
		return err
	}
	if s.Port, err = free(); err != nil {
		return err
	}
	if err := s.Resume(ctx); err != nil {
		return err
	}

	return s.Exec(ctx, "CREATE ROLE "+Provider+" LOGIN CREATEDB CREATEROLE PASSWORD '"+Password+"'")
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// own gives the folder to the user that the server runs as.
func (s *Server) own(uid, gid int) error {
	if uid < 0 {
		return nil
	}

	return errors.Wrap(filepath.WalkDir(s.dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}

		return os.Chown(path, uid, gid)
	}), "cannot give the folder to the user of the server")
}

// unprivileged returns the user that the server runs as, which must not be root, or -1 for the one that runs this.
func unprivileged() (uid, gid int, err error) {
	if os.Getuid() != 0 {
		return -1, -1, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			uid, _ := strconv.Atoi(u.Uid) // numbers on every system that has setuid
			gid, _ := strconv.Atoi(u.Gid)

			return uid, gid, nil
		}
	}

	return 0, 0, errors.New("PostgreSQL does not run as root, and there is neither a user postgres nor nobody")
}

// command runs a program of PostgreSQL.
func (s *Server) command(name string, args ...string) error {
	cmd := exec.Command(filepath.Join(s.programs, name), args...)
	cmd.SysProcAttr, cmd.Dir = s.as, s.dir
	out, err := cmd.CombinedOutput()

	return errors.Wrapf(err, "%s failed: %s", name, bytes.TrimSpace(out))
}

// leash starts a program, and ends it when its standard input has a line or closes, which it does when the process
// ends that holds it. Unless the line is "keep", the folder is removed.
const leash = `dir=$1; shift; "$@" </dev/null & p=$!; read -r line; kill -QUIT $p; wait $p
[ "$line" = keep ] || rm -rf "$dir"`

// Resume starts the server again after Suspend.
func (s *Server) Resume(ctx context.Context) error {
	s.run = exec.Command("sh", "-c", leash, "sh", s.dir, filepath.Join(s.programs, "postgres"), "-D", s.data(), "-p",
		strconv.Itoa(int(s.Port)),
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off",
		"-c", "full_page_writes=off", "-c", "max_connections=100", "-c", "autovacuum=off",
		"-c", "ssl=on", "-c", "ssl_cert_file="+filepath.Join(s.dir, "cert.pem"),
		"-c", "ssl_key_file="+filepath.Join(s.dir, "key.pem"),
		"-c", "log_statement=all", "-c", "log_line_prefix=%u: ")
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return errors.Wrap(err, "cannot open the log of the server")
	}
	defer func() { _ = log.Close() }()
	s.run.Dir, s.run.SysProcAttr, s.run.Stdout, s.run.Stderr = s.dir, s.as, log, log
	if s.leash, err = s.run.StdinPipe(); err != nil {
		return errors.Wrap(err, "cannot make a pipe")
	}
	if err := s.run.Start(); err != nil {
		return errors.Wrap(err, "cannot start the server")
	}

	return s.await(ctx)
}

// await waits until the server answers, for half a minute at most.
func (s *Server) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := s.Exec(ctx, "SELECT 1")
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			text, _ := s.Log()

			return errors.Wrapf(err, "the server does not answer; its log: %s", text)
		case <-tick.C:
		}
	}
}

// Log returns what the server has logged, with every statement.
func (s *Server) Log() (string, error) {
	text, err := os.ReadFile(filepath.Join(s.dir, "log"))

	return string(text), err
}

// Exec runs statements as the superuser, with the simple protocol.
func (s *Server) Exec(ctx context.Context, sql string) error {
	return s.In(ctx, "postgres", func(conn *pgx.Conn) error {
		_, err := conn.PgConn().Exec(ctx, sql).ReadAll()

		return err
	})
}

// In calls a function with a connection of the superuser to a database. Connections are kept for later calls until
// Suspend; one to another database than postgres lets that database neither be dropped nor renamed without force.
func (s *Server) In(ctx context.Context, database string, do func(*pgx.Conn) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	conn := s.kept[database]
	if conn == nil || conn.IsClosed() {
		var err error
		if conn, err = s.Connect(ctx, Superuser, Password, database); err != nil {
			return err
		}
		s.kept[database] = conn
	}

	return do(conn)
}

// Connect returns a connection as a user.
func (s *Server) Connect(ctx context.Context, user, password, database string) (*pgx.Conn, error) {
	settings, err := pgx.ParseConfig("host=127.0.0.1 sslmode=disable")
	if err != nil {
		return nil, errors.Wrap(err, "cannot make the settings")
	}
	settings.Port, settings.User, settings.Password, settings.Database = s.Port, user, password, database

	return pgx.ConnectConfig(ctx, settings)
}

// Suspend ends the server at once, as a crash does. Its data stay for Resume.
func (s *Server) Suspend() { s.end("keep\n") }

// Close ends the server and removes its folder.
func (s *Server) Close() {
	s.end("\n")
	_ = os.RemoveAll(s.dir) // what never started has removed nothing
}

func (s *Server) end(how string) {
	if s.leash == nil {
		return
	}
	_, _ = io.WriteString(s.leash, how)
	_ = s.leash.Close()
	_ = s.run.Wait() // it ends by a signal, which is no success
	s.leash = nil
}

// free returns an unused port.
func free() (uint16, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, errors.Wrap(err, "cannot find a free port")
	}
	defer func() { _ = l.Close() }()
	address, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return 0, fmt.Errorf("a listener has the address %v", l.Addr())
	}

	return uint16(address.Port), nil
}
