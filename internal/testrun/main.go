// Command testrun runs the tests of the repository and says where the time went.
//
//	testrun test MODULE...        the tests of these modules, but for those of proof.txt
//	testrun race MODULE...        the packages of race.txt under the race detector
//	testrun proof [PART...]       what a release rests on, or parts of it, as far as they have not passed on this tree
//	testrun busy N FOR COMMAND... a command beside N busy loops, which last so long at most
//	testrun leftout MODULE        the tests of the module that make test leaves out, as go test -skip takes them
//	testrun unproven              which parts of it have not passed on this tree, and the commit on which each last did
//
// It runs in the root of the repository. The lists proof.txt and race.txt stand beside this file; tests hold them to
// the code.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: testrun test|race|proof|busy|leftout|unproven ...")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := run(ctx, os.Args[1], os.Args[2:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, command string, args []string) error {
	if len(args) == 0 && (command == "test" || command == "race") {
		return fmt.Errorf("name the modules to %s", command)
	}
	switch command {
	case "test":
		return testAll(ctx, args)
	case "race":
		return raceAll(ctx, args)
	case "busy":
		return runBusy(ctx, args)
	case "leftout":
		return printLeftOut(args, os.Stdout)
	case "proof", "unproven":
		p, err := newProof(ctx)
		if err != nil {
			return err
		}
		if command == "unproven" {
			return p.unproven(os.Stdout)
		}
		return p.prove(ctx, args, os.Stdout)
	}
	return fmt.Errorf("unknown command %q", command)
}
