package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// results are the known results of the draws of one tree.
type results struct {
	Key   string // see key
	Draws map[int]drawn
}

// A drawn is the result of a draw.
type drawn struct {
	Tally   tally
	Seconds float64
	Report  string // as it was printed
}

// everyDraw tries all draws except those whose results are known, and prints the result of each. All mutants are
// compiled at once.
func (t trial) everyDraw(ctx context.Context) error {
	known, err := t.known(ctx)
	if err != nil {
		return err
	}
	var open []*mutant
	for i, draw := range t.draws {
		if _, ok := known.Draws[i]; !ok {
			open = append(open, draw...)
		}
	}
	var l lab
	if len(open) > 0 {
		if l, err = t.prepare(ctx, open); err != nil {
			return err
		}
		defer l.close()
	}
	for i, draw := range t.draws {
		if d, ok := known.Draws[i]; ok {
			fmt.Fprint(t.out, d.Report)
		} else if known.Draws[i], err = t.whole(ctx, l, draw); err != nil {
			return err
		} else if err = known.write(t.results); err != nil {
			return err
		}
		d := known.Draws[i]
		fmt.Fprintf(t.out, "draw %d of %d: %d of %d killed, %.1f %%, in %.0f s\n", i+1, len(t.draws), d.Tally.Killed,
			d.Tally.mutants(), d.Tally.percent(), d.Seconds)
	}
	return t.end(known)
}

// whole tries a draw, and keeps its output.
func (t trial) whole(ctx context.Context, l lab, draw []*mutant) (drawn, error) {
	start := time.Now()
	var text strings.Builder
	r := t.report(io.MultiWriter(t.out, &text))
	err := t.try(ctx, l, draw, &r)
	return drawn{Tally: r.tally, Seconds: time.Since(start).Seconds(), Report: text.String()}, err
}

// end prints the figures of all draws, and returns an error if too few mutants of a draw were killed.
func (t trial) end(known results) error {
	var sum tally
	lowest, seconds := 100.0, 0.0
	for _, d := range known.Draws {
		sum, lowest, seconds = sum.plus(d.Tally), min(lowest, d.Tally.percent()), seconds+d.Seconds
	}
	sum.figures(t.out)
	fmt.Fprintf(t.out, "draws: %d\nseconds: %.0f\npercent: %.1f\nlowest_percent: %.1f\n", len(t.draws), seconds,
		sum.percent(), lowest)
	return enough(lowest, t.least)
}

// known reads the results of an earlier run, if it was of the same tree and the same settings.
func (t trial) known(ctx context.Context) (results, error) {
	fresh := results{Draws: map[int]drawn{}}
	if t.results == "" {
		return fresh, nil
	}
	key, err := t.key(ctx)
	if err != nil {
		return fresh, err
	}
	fresh.Key = key
	var before results
	if err := before.read(t.results); err != nil && !errors.Is(err, errUnreadable) && !errors.Is(err, fs.ErrNotExist) {
		return fresh, err
	}
	if before.Key == key && before.Draws != nil {
		return before, nil
	}
	return fresh, nil
}

var errUnreadable = errors.New("it has no results")

// read returns an error that is errUnreadable if the file is there and has no results.
func (r *results) read(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, r); err != nil {
		*r = results{}
		return fmt.Errorf("%s: %w: %w", name, errUnreadable, err)
	}
	return nil
}

// key names the contents of all files of the repository that git does not ignore, and the settings that matter for
// the result of a draw.
func (t trial) key(ctx context.Context) (string, error) {
	root, err := exec.CommandContext(ctx, "git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return "", fmt.Errorf("cannot find the root of the repository: %w", err)
	}
	ls := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	ls.Dir = string(bytes.TrimSpace(root))
	list, err := ls.Output()
	if err != nil {
		return "", fmt.Errorf("cannot list the files of the repository: %w", err)
	}
	names := strings.Split(string(list), "\x00")
	slices.Sort(names)
	hash := sha256.New()
	fmt.Fprintf(hash, "%s %q %d %q %q %t\n", runtime.Version(), t.settings.subjects, t.mutants, t.skip, t.at, t.verbose)
	for _, name := range slices.Compact(names) {
		text, err := os.ReadFile(filepath.Join(ls.Dir, name))
		if err != nil {
			continue // a file that was removed, or a folder
		}
		fmt.Fprintf(hash, "%q %x\n", name, sha256.Sum256(text))
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// write replaces the file at once: a run that is stopped leaves the former or the new one.
func (r results) write(name string) error {
	if name == "" {
		return nil
	}
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
		return err
	}
	if err := os.WriteFile(name+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}
