package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// A record is what one test binary took.
type record struct {
	PID    int           // of the process that ran it
	Folder string        // of the package
	Wall   time.Duration // from its start to its end
	CPU    time.Duration // with all that it started and waited for
}

// wrap runs a test binary for "go test -exec" and writes to a folder that it began, and then what it took. It returns the exit code.
func wrap(folder string, command []string) (int, error) {
	if err := os.WriteFile(filepath.Join(folder, strconv.Itoa(os.Getpid())+".began"), nil, 0o600); err != nil {
		return 1, err
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
	go func() {
		for s := range signals {
			_ = cmd.Process.Signal(s)
		}
	}()
	err := cmd.Wait()
	signal.Stop(signals)
	close(signals)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = nil
	}
	r := record{PID: os.Getpid(), Wall: time.Since(began), CPU: processorTime(cmd)}
	return cmd.ProcessState.ExitCode(), errors.Join(err, r.write(folder))
}

func (r record) write(folder string) (err error) {
	if r.Folder, err = os.Getwd(); err != nil {
		return err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, strconv.Itoa(r.PID)+".json"), text, 0o600)
}
