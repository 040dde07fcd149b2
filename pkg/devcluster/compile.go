package devcluster

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// progressInterval is the interval at which the compilation reports its progress.
const progressInterval = 5 * time.Second

// goCommand returns a go command that runs in a separate process group. Otherwise Ctrl-C in a terminal would end the
// command before ctx has ended, and its error would be reported instead of the interruption. When ctx ends, the command
// and all processes that it has started are killed.
func goCommand(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.SysProcAttr = ownGroup()
	cmd.Cancel = func() error {
		killGroup(cmd.Process)
		return nil
	}
	return cmd
}

// goOutput returns the standard output of a go command. A process that is started is in the process group of its parent
// for a moment, in which Ctrl-C can end it. Ctrl-C is for the parent, whose ctx may end now, so the command runs again.
func goOutput(ctx context.Context, dir string, args ...string) (output []byte, err error) {
	for range 3 {
		cmd := goCommand(ctx, args...)
		cmd.Dir, cmd.Env = dir, goEnv()
		if output, err = cmd.Output(); !interrupted(err) {
			break
		}
	}
	return output, err
}

// compile builds the sources into the file output. All other files that it creates are in the folder of output.
func compile(ctx context.Context, source, output string, progress io.Writer) error {
	begin := time.Now()
	fmt.Fprintln(progress,
		"devcluster: building kube-apiserver and etcd; the first time takes about five minutes on two cores (\"make "+
			"devcluster\" does it ahead)")
	stop := report(progressInterval, func() {
		fmt.Fprintf(progress, "devcluster: downloading modules, %.0f s\n", time.Since(begin).Seconds())
	})
	total, err := countPackages(ctx, source)
	stop()
	if err != nil {
		return err
	}
	// -v prints the name of each package that is compiled. It does not print packages in Go's build cache, so the count
	// may end early.
	cmd := goCommand(ctx, append(append([]string{"build", "-v", "-o", output}, buildFlags()...), ".")...)
	// An interrupted go command leaves its temporary files. In this folder they are removed with the output.
	cmd.Dir, cmd.Env = source, append(goEnv(), "GOTMPDIR="+filepath.Dir(output))
	var log compileLog
	cmd.Stderr = &log
	stop = report(progressInterval, func() {
		fmt.Fprintf(progress, "devcluster: compiled %d of at most %d packages, %.0f s\n", log.packages(), total,
			time.Since(begin).Seconds())
	})
	err = cmd.Run()
	stop()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("go build: %w: %s", err, log.complaint())
	}
	fmt.Fprintf(progress, "devcluster: built in %.0f s\n", time.Since(begin).Seconds())
	return nil
}

// countPackages returns the number of packages to compile. It also downloads the modules.
func countPackages(ctx context.Context, source string) (int, error) {
	list, err := goOutput(ctx, source, "list", "-deps", ".")
	if err != nil {
		return 0, commandError("go list", err)
	}
	return bytes.Count(list, []byte("\n")), nil
}

// report calls f at each interval. The returned function stop ends this, and returns after the last call has returned.
func report(interval time.Duration, f func()) (stop func()) {
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				f()
			}
		}
	}()
	return func() {
		close(quit)
		<-ended
	}
}

// compileLog separates names of packages, which are lines without a space, from messages of the compiler.
type compileLog struct {
	mu      sync.Mutex
	partial []byte
	count   int
	other   tail
}

func (l *compileLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.partial = append(l.partial, b...)
	for {
		line, rest, found := bytes.Cut(l.partial, []byte("\n"))
		if !found {
			return len(b), nil
		}
		l.partial = rest
		if bytes.ContainsAny(line, " \t") {
			_, _ = l.other.Write(line)
		} else {
			l.count++
		}
	}
}

func (l *compileLog) packages() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

// complaint returns the last lines that are neither names of packages nor messages about downloads.
func (l *compileLog) complaint() string {
	var lines []string
	for s := bufio.NewScanner(strings.NewReader(l.other.String())); s.Scan(); {
		if !strings.HasPrefix(s.Text(), "go: downloading ") {
			lines = append(lines, s.Text())
		}
	}
	return strings.Join(lines, "\n")
}
