// Command testrun runs the tests of the repository and prints how long they took.
//
//	testrun test MODULE...        runs the tests of these modules, except those in proof.txt
//	testrun race MODULE...        runs the packages in race.txt under the race detector
//	testrun proof [PART...]       runs the tests before a release, or parts of them, that have not passed on this tree
//	testrun busy N FOR COMMAND... runs a command beside N busy loops, which end after the duration FOR
//	testrun leftout MODULE        prints the tests of the module that make test omits, as a value of go test -skip
//	testrun postgres              prints the folder with the programs of PostgreSQL, or fails
//	testrun unproven              prints the parts of proof that have not passed on this tree, and their last commits
//
// It runs in the root of the repository. The lists proof.txt and race.txt are beside this file. Tests check that the
// lists match the code.
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
		fmt.Fprintln(os.Stderr, "usage: testrun test|race|proof|busy|leftout|postgres|unproven ...")
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
	case "postgres":
		return printPostgres(os.Stdout)
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
