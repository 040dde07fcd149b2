package server

import (
	"io"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/moorage-dev/moorage/pkg/errors"
)

const (
	grace = 20 * time.Second       // until a process group that was asked to end is killed
	step  = 100 * time.Millisecond // between two questions whether the group has ended

	// gated is a script that becomes a program when it reads a line, or ends when its standard input closes.
	gated = `read -r line && exec "$@" </dev/null`

	// leashed is a script that ends the process group $1 when it reads a line, or when its standard input closes. It
	// kills a group that has not ended after $3 questions. When its standard input closes it removes the folder $2.
	//
	// A process that has ended stays in its group until its parent, or process 1 for an orphan, reads its exit status.
	// Process 1 of a container often does not. So on Linux the script asks /proc for a process that is no zombie (Z).
	leashed = `
runs() {
	kill -s 0 -- "-$1" || return
	[ -r "/proc/$$/stat" ] || return 0
	for file in /proc/[0-9]*/stat; do
		read -r stat <"$file" || continue
		set -- "$1" ${stat##*) }
		[ "$4" = "$1" ] && [ "$2" != Z ] && return 0
	done
	return 1
}
await() {
	n=0
	while runs "$1" && [ $n -lt "$2" ]; do sleep 0.1; n=$((n+1)); done
}
read -r line
kill -s TERM -- "-$1"
await "$1" "$3"
kill -s KILL -- "-$1"
await "$1" 50
while read -r line; do :; done
rm -rf "$2"
exit 0`
)

// A leash is a process that ends another process group when this process ends, or earlier by cut. The leash is in a
// group of its own, so that signals for the other group, and for that of this process, do not reach it.
type leash struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	group int
}

// newLeash starts the leash of a process group and of its folder. The group has the given time to end after SIGTERM.
func newLeash(group int, folder string, limit time.Duration) (*leash, error) {
	questions := strconv.Itoa(int(limit / step))
	cmd := exec.Command("sh", "-c", leashed, "sh", strconv.Itoa(group), folder, questions)
	cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Setpgid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, errors.Wrap(err, "cannot make a pipe")
	}
	if err := cmd.Start(); err != nil {
		return nil, errors.Wrap(err, "cannot start the process that ends it")
	}

	return &leash{cmd: cmd, stdin: stdin, group: group}, nil
}

// pull ends what is left of the group, and keeps the folder. It does not wait. It may be called during cut.
func (l *leash) pull() { _, _ = io.WriteString(l.stdin, "\n") }

// cut ends the group, waits until it has ended, and removes the folder. Call it once.
func (l *leash) cut() {
	_ = l.stdin.Close()
	if err := l.cmd.Wait(); err != nil {
		// A signal has ended the leash, and the group may still run.
		_ = syscall.Kill(-l.group, syscall.SIGKILL)
	}
}
