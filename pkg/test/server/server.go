package server

import (
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/moorage-dev/moorage/pkg/errors"
)

const (
	patience = time.Minute           // until a server answers
	pace     = 50 * time.Millisecond // between two questions
	attempt  = time.Second           // for one question
	maxLog   = 4 << 10               // bytes of the log in an error
)

// A Server is a running server. Use Start.
type Server struct {
	place Place
	leash *leash
	log   string
	ended chan error // has the error of the process when that has ended
	stop  sync.Once
}

// Start starts a server at an address of this machine, such as 127.0.0.1:6379, and waits until it answers. If the
// server does not, the error has the end of its log. Call Stop at the end. The server also ends with this process, even
// if that is killed.
func Start(ctx context.Context, p Program, address string) (*Server, error) {
	program, err := exec.LookPath(p.Name)
	if err != nil {
		return nil, errors.Errorf("there is no program %q to start a server: %s", p.Name, p.Install)
	}
	if program, err = filepath.Abs(program); err != nil { // the server runs in another folder
		return nil, errors.Wrapf(err, "cannot find the program %q", p.Name)
	}
	at, err := p.place(address)
	if err != nil {
		return nil, err
	}
	s := &Server{place: at, log: filepath.Join(at.Dir, "server.log"), ended: make(chan error, 1)}
	if p.Prepare != nil {
		err = p.Prepare(ctx, at)
	}
	if err == nil {
		err = s.start(program, p)
	}
	if err == nil {
		err = s.await(ctx, p)
	}
	if err != nil {
		s.Stop()

		return nil, errors.Wrapf(err, "cannot start %s", filepath.Base(program))
	}

	return s, nil
}

// start starts the process.
func (s *Server) start(program string, p Program) error {
	var args []string
	if p.Args != nil {
		args = p.Args(s.place)
	}
	log, err := os.Create(s.log)
	if err != nil {
		return errors.Wrap(err, "cannot create its log")
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command("sh", append([]string{"-c", gated, "sh", program}, args...)...)
	cmd.Dir, cmd.SysProcAttr, cmd.Stdout, cmd.Stderr = s.place.Dir, s.place.as, log, log
	gate, err := cmd.StdinPipe()
	if err != nil {
		return errors.Wrap(err, "cannot make a pipe")
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if s.leash, err = newLeash(cmd.Process.Pid, s.place.Dir, p.limit()); err != nil {
		_ = gate.Close()
		_ = cmd.Wait()

		return err
	}
	_, _ = io.WriteString(gate, "\n")
	_ = gate.Close()
	go func() {
		err := cmd.Wait()
		s.leash.pull()
		s.ended <- err
	}()

	return nil
}

// await waits until the server answers.
func (s *Server) await(ctx context.Context, p Program) error {
	limit := p.Patience
	if limit == 0 {
		limit = patience
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for {
		err := s.ask(ctx, p)
		if err == nil {
			return nil
		}
		select {
		case err := <-s.ended:
			s.ended <- err

			return errors.Errorf("it has ended (%v), and its log is: %s", err, s.tail())
		case <-ctx.Done():
			return errors.Wrapf(err, "it does not answer, and its log is: %s", s.tail())
		case <-tick.C:
		}
	}
}

// ask returns nil if the server answers.
func (s *Server) ask(ctx context.Context, p Program) error {
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	if p.Answers != nil {
		return p.Answers(ctx, s.place)
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.place.Address())
	if err != nil {
		return err
	}

	return conn.Close()
}

// tail returns the end of the log. After Stop there is none.
func (s *Server) tail() string {
	text, err := os.ReadFile(s.log)
	if err != nil {
		return err.Error()
	}

	return string(text[max(0, len(text)-maxLog):])
}

// Address returns the host and the port of the server.
func (s *Server) Address() string { return s.place.Address() }

// Wait waits until ctx ends, and then stops the server. If the server ends before, Wait returns an error.
func (s *Server) Wait(ctx context.Context) error {
	select {
	case err := <-s.ended:
		s.ended <- err
		s.Stop()

		return errors.Errorf("the server has ended by itself: %v", err)
	case <-ctx.Done():
		s.Stop()

		return nil
	}
}

// Stop ends the server with all processes of its process group, and removes its folder. Processes that have not ended
// after 20 seconds are killed. Stop may be called again, and concurrently: each call returns after the end.
func (s *Server) Stop() { s.stop.Do(s.end) }

// end ends the server.
func (s *Server) end() {
	defer func() { _ = os.RemoveAll(s.place.Dir) }()
	if s.leash == nil {
		return
	}
	s.leash.cut()
	s.ended <- <-s.ended
}

// Run starts a server at an address, calls ready as soon as it answers, and stops it when ctx ends.
func Run(ctx context.Context, p Program, address string, ready func()) error {
	s, err := Start(ctx, p, address)
	if err != nil {
		return err
	}
	ready()

	return s.Wait(ctx)
}
