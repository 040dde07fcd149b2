// Command release writes the version of a release into the go.mod files of the repository. The modules that other
// modules require can then be tagged.
//
//	release VERSION          writes the version to each requirement of a released module
//	release -check VERSION   fails if a requirement of a released module has another version
//
// It runs in the root of the repository. docs/releasing.md has the tags and their order.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Args[1:], ".", os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string, root string, out io.Writer) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	check := flags.Bool("check", false, "fail if the version does not stand in the go.mod files, and write nothing")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return fmt.Errorf("usage: release [-check] VERSION")
	}
	version := flags.Arg(0)
	if err := valid(version); err != nil {
		return err
	}
	changed, err := prepare(root, version, !*check)
	if err != nil {
		return err
	}
	if *check && len(changed) > 0 {
		return fmt.Errorf("%v do not require %s: run go run ./internal/release %s, and commit", changed, version,
			version)
	}
	for _, file := range changed {
		fmt.Fprintln(out, "changed", file)
	}
	fmt.Fprintln(out, "Tag one commit, in this order:")
	for _, m := range released {
		fmt.Fprintln(out, "  git tag "+m.tag(version))
	}

	return nil
}
