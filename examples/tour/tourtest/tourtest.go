// Package tourtest runs a demo as a process, types the commands that it prints, and presses Ctrl-C. Begin with [Start].
package tourtest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Demo is a demo that runs as in a terminal: in its own session, and with its own folder for temporary files. Use
// Start. Its methods must be called by the goroutine of the test.
type Demo struct {
	t    *testing.T
	cmd  *exec.Cmd
	temp string
	out  output
	done chan struct{} // closed when the process has ended
	err  error         // of Wait
}

// Start starts a demo. One that still runs when the test ends is killed.
func Start(t *testing.T, cmd *exec.Cmd) *Demo {
	t.Helper()
	d := &Demo{t: t, cmd: cmd, temp: t.TempDir(), done: make(chan struct{})}
	d.out.change = sync.NewCond(&d.out.mu)
	apart(cmd)
	cmd.Env = append(cmd.Environ(), "TMPDIR="+d.temp)
	cmd.Stdout, cmd.Stderr = &d.out, &d.out
	cmd.WaitDelay = time.Minute // for a process that is left behind and holds the output open
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		d.err = cmd.Wait()
		d.out.end()
		close(d.done)
	}()
	t.Cleanup(func() {
		kill(cmd.Process)
		<-d.done
	})

	return d
}

// Whole takes a tour to its end, and checks that it reports that number of steps, that the printed commands work, and
// that two Ctrl-C in a row leave nothing.
func (d *Demo) Whole(steps int) {
	d.t.Helper()
	commands := d.LookAround()
	if want := fmt.Sprintf("All %d steps held", steps); !strings.Contains(d.Printed(), want) {
		d.t.Errorf("it does not say %q:\n%s", want, d.Printed())
	}
	d.t.Log(d.Type(commands))
	d.Interrupt()
	d.Interrupt()
	d.Ended()
}

// InterruptedAt sends Ctrl-C once the demo has printed a text, and checks that it ends and leaves nothing.
func (d *Demo) InterruptedAt(text string) {
	d.t.Helper()
	d.Await(text)
	d.Interrupt()
	d.Ended()
}

// Await waits until the demo has printed a text. The test fails if the demo ends first.
func (d *Demo) Await(text string) {
	d.t.Helper()
	if !d.out.await(text) {
		<-d.done
		d.t.Fatalf("it ends (%v) and has not said %q:\n%s", d.err, text, d.out.String())
	}
}

// LookAround waits until the demo prints how to look around, and returns the printed commands.
func (d *Demo) LookAround() (commands []string) {
	d.t.Helper()
	const begin, end = "To look around, in another terminal:\n\n",
		"\n\nCtrl-C ends it, stops all that was started, and removes its data."
	d.Await(end)
	_, said, _ := strings.Cut(d.out.String(), begin)
	said, _, _ = strings.Cut(said, end)
	for line := range strings.Lines(said) {
		commands = append(commands, strings.TrimSpace(line))
	}

	return commands
}

// Type runs commands in one shell, which ends at the first that fails, and returns their output. Commands whose program
// does not exist on this machine are left out.
func (d *Demo) Type(commands []string) string {
	d.t.Helper()
	shell := exec.CommandContext(d.t.Context(), "bash", "-euc", strings.Join(installed(commands), "\n"))
	shell.Env = d.cmd.Env
	var errs bytes.Buffer
	shell.Stderr = &errs
	out, err := shell.Output()
	if err != nil {
		d.t.Errorf("what it says to type fails: %v\n%s\n%s%s", err, strings.Join(commands, "\n"), out, errs.String())
	}

	return string(out)
}

// installed returns the commands without those that need kubectl or nats, if that program does not exist here.
func installed(commands []string) (have []string) {
	missing := func(command, program string) bool {
		_, err := exec.LookPath(program)

		return err != nil && (strings.HasPrefix(command, program+" ") || strings.Contains(command, "| "+program+" "))
	}
	for _, c := range commands {
		if !missing(c, "kubectl") && !missing(c, "nats") {
			have = append(have, c)
		}
	}

	return have
}

// Interrupt does what Ctrl-C in the demo's terminal does.
func (d *Demo) Interrupt() {
	d.t.Helper()
	if err := interrupt(d.cmd.Process); err != nil && !errors.Is(err, os.ErrProcessDone) {
		d.t.Fatal(err)
	}
}

// Ended waits until the demo has ended. The test fails unless the exit code is 0, the last line is "Stopping.", and no
// process and no temporary file is left.
func (d *Demo) Ended() {
	d.t.Helper()
	<-d.done
	out := d.out.String()
	if d.err != nil || !strings.HasSuffix(out, "Stopping.\n") {
		d.t.Errorf("it ends with %v, want no error and \"Stopping.\" in the end:\n%s", d.err, out)
	}
	if left := session(d.cmd.Process.Pid); len(left) > 0 {
		d.t.Errorf("it leaves processes: %q", left)
	}
	left, err := os.ReadDir(d.temp)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, f := range left {
		d.t.Errorf("it leaves the temporary file %s", f.Name())
	}
}

// Printed returns what the demo has printed so far.
func (d *Demo) Printed() string { return d.out.String() }

// output collects the output of a process.
type output struct {
	mu     sync.Mutex
	change *sync.Cond
	text   bytes.Buffer
	over   bool
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer o.change.Broadcast()

	return o.text.Write(p)
}

func (o *output) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.over = true
	o.change.Broadcast()
}

// await waits for a text, and reports whether it was printed before the end.
func (o *output) await(text string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for !strings.Contains(o.text.String(), text) {
		if o.over {
			return false
		}
		o.change.Wait()
	}

	return true
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()

	return o.text.String()
}
