package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

var errBusyUsage = errors.New(
	"usage: testrun busy LOOPS DURATION COMMAND...: so many busy loops beside the command, for so long at most")

// runBusy runs a command beside busy loops, to show that the command passes on a slow machine. Each loop has its own
// thread. The loops end with the command or after a time limit. After the time limit the command continues alone, and
// runBusy fails, because the rest ran on an idle machine.
func runBusy(ctx context.Context, args []string) error {
	if len(args) < 3 {
		return errBusyUsage
	}
	loops, err := strconv.Atoi(args[0])
	if err != nil || loops < 1 {
		return errors.Join(errBusyUsage, err)
	}
	most, err := time.ParseDuration(args[1])
	if err != nil {
		return errors.Join(errBusyUsage, err)
	}
	busy, stop := context.WithTimeout(ctx, most)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	keepBusy(busy, loops, &running)
	fmt.Printf("%d busy loops on %d processors, for %v at most\n", loops, runtime.NumCPU(), most)
	began := time.Now()
	cmd := exec.CommandContext(ctx, args[2], args[3:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	endTogether(cmd)
	err = cmd.Run()
	took := time.Since(began)
	fmt.Printf("seconds_beside_busy_loops: %.0f\n", min(took, most).Seconds())
	if took > most {
		err = errors.Join(err, fmt.Errorf("the command took %.0f s, and the loops ended after %v", took.Seconds(),
			most))
	}
	return err
}

// keepBusy starts loops that compute until the context ends. Each loop has a thread, which the kernel schedules as it
// schedules those of other programs.
func keepBusy(ctx context.Context, loops int, running *sync.WaitGroup) {
	runtime.GOMAXPROCS(loops + runtime.NumCPU())
	var over atomic.Bool
	context.AfterFunc(ctx, func() { over.Store(true) })
	for range loops {
		running.Go(func() {
			runtime.LockOSThread()
			for !over.Load() {
				// The loop only computes.
			}
		})
	}
}
