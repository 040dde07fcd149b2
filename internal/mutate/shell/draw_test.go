package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// drawsOf returns the draws of two packages.
func drawsOf(t *testing.T, least int) (draws [][]*mutant, pool []*mutant, misfits int) {
	t.Helper()
	pool, misfits, err := poolOf([]*subject{loaded(t, "operators"), loaded(t, "sound")}, "")
	if err != nil {
		t.Fatal(err)
	}
	return divide(pool, least), pool, misfits
}

// TestDraws checks that the draws have each mutant of the pool once, are of one size, and have the same share of
// each sort of change, and of each file. The content of a draw depends on the source alone.
func TestDraws(t *testing.T) {
	const least = 12
	draws, pool, _ := drawsOf(t, least)
	if len(draws) != len(pool)/least || len(draws) < 5 {
		t.Fatalf("got %d draws of %d mutants", len(draws), len(pool))
	}
	in := map[*mutant]int{}
	share := map[string][]int{}
	for i, draw := range draws {
		if smallest := len(pool) / len(draws); len(draw) < least || len(draw) < smallest || len(draw) > smallest+1 {
			t.Errorf("draw %d has %d mutants of %d", i, len(draw), len(pool))
		}
		for _, m := range draw {
			in[m]++
			for _, key := range []string{m.sort(), m.sort() + " in " + m.file.name} {
				if share[key] == nil {
					share[key] = make([]int, len(draws))
				}
				share[key][i]++
			}
		}
	}
	for _, m := range pool {
		if in[m] != 1 {
			t.Errorf("%s is in %d draws", m, in[m])
		}
	}
	if len(in) != len(pool) {
		t.Errorf("the draws have %d mutants, the pool has %d", len(in), len(pool))
	}
	for key, of := range share {
		if slices.Max(of) > slices.Min(of)+1 {
			t.Errorf("%s: the draws have %v", key, of)
		}
	}
	again, _, _ := drawsOf(t, least)
	if diff := gocmp.Diff(names(draws), names(again)); diff != "" {
		t.Errorf("the same source was divided differently: -first, +again:\n%s", diff)
	}
	inOrder := slices.IsSortedFunc(draws[0], func(a, b *mutant) int {
		return cmp.Or(strings.Compare(a.subject.dir, b.subject.dir), a.edits[0].from-b.edits[0].from)
	})
	if inOrder {
		t.Error("the place in the source says in which draw a mutant is")
	}
}

func names(draws [][]*mutant) (all [][]string) {
	for _, draw := range draws {
		var of []string
		for _, m := range draw {
			of = append(of, m.String())
		}
		all = append(all, of)
	}
	return all
}

// TestSmallPool checks that a pool that is no larger than a draw is one draw.
func TestSmallPool(t *testing.T) {
	if draws, pool, _ := drawsOf(t, 100000); len(draws) != 1 || len(draws[0]) != len(pool) {
		t.Errorf("got %d draws", len(draws))
	}
}

// TestMisfits checks that the pool has all mutants that compile, and no others.
func TestMisfits(t *testing.T) {
	const wrong = `box.order: remove the assignment "b.size = size + twice"` // size is not used then
	is := func(m *mutant) bool { return strings.HasSuffix(m.String(), wrong) }
	if !slices.ContainsFunc(loaded(t, "operators").candidates, is) {
		t.Fatalf("there is no %s", wrong)
	}
	_, pool, misfits := drawsOf(t, 300)
	if misfits == 0 || slices.ContainsFunc(pool, is) {
		t.Errorf("%d do not compile; the pool has %q", misfits, names([][]*mutant{pool}))
	}
	if all := len(loaded(t, "operators").candidates) + len(loaded(t, "sound").candidates); len(pool)+misfits != all {
		t.Errorf("there are %d mutants; the pool has %d, and %d do not compile", all, len(pool), misfits)
	}
}

// TestSeeds checks that every seed chooses a draw, and that every draw has a seed.
func TestSeeds(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(4) {
		s := of("gappy")
		s.seed, s.mutants, s.least = seed, 4, 0
		var out strings.Builder
		if err := run(t.Context(), &out, s); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if strings.HasPrefix(line, "draw: ") {
				seen[line] = true
			}
		}
	}
	if diff := gocmp.Diff(map[string]bool{"draw: 1\n": true, "draw: 2\n": true}, seen); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestEveryDraw checks that the whole pool is tried, draw by draw, and that the draw with the lowest percentage
// decides. Known results are reused unless a file has changed.
func TestEveryDraw(t *testing.T) {
	s := of("gappy")
	s.all, s.mutants, s.results = true, 4, filepath.Join(t.TempDir(), "bin", "results.json")
	try := func(ctx context.Context) (string, error) {
		var out strings.Builder
		err := run(ctx, &out, s)
		return out.String(), err
	}
	const tried = "compiled and run without a mutation"
	first, err := try(t.Context())
	killed := map[int]int{}
	for line := range strings.Lines(first) {
		var i, n, of int
		if _, err := fmt.Sscanf(line, "draw %d of 2: %d of %d killed", &i, &n, &of); err == nil {
			killed[i] = n
			if of != 5 && of != 4 {
				t.Errorf("got a draw of %d mutants", of)
			}
		}
	}
	if len(killed) != 2 || killed[1]+killed[2] != 4 || !strings.Contains(first, tried) ||
		!strings.Contains(first, "\nmutants: 9\ncompiled: 9\nkilled: 4\n") {
		t.Errorf("want two draws in which 4 of 9 are killed:\n%s", first)
	}
	lowest := min(100*float64(killed[1])/5, 100*float64(killed[2])/4)
	if want := fmt.Sprintf("%.1f %% of the mutants were killed, less than 95 %%", lowest); err == nil ||
		!strings.HasPrefix(err.Error(), want) {
		t.Errorf("got error %v, want %q", err, want)
	}
	if !strings.Contains(first, fmt.Sprintf("\nlowest_percent: %.1f\n", lowest)) {
		t.Errorf("want lowest_percent: %.1f in:\n%s", lowest, first)
	}

	again, err := try(t.Context())
	if err == nil || strings.Contains(again, tried) || strings.Count(again, "SURVIVED") != 5 {
		t.Errorf("want what is known, survivors too, and no other run; got error %v and:\n%s", err, again)
	}
	forget(t, s.results)
	rest, err := try(t.Context())
	if err == nil || !strings.Contains(rest, tried) || strings.Count(rest, "SURVIVED") != 5 ||
		!strings.Contains(rest, "\nmutants: 9\n") {
		t.Errorf("want what is known and a run of the rest; got error %v and:\n%s", err, rest)
	}
	s.skip = "TestNothing"
	if other, err := try(t.Context()); err == nil || !strings.Contains(other, tried) {
		t.Errorf("other tests are another result; got error %v and:\n%s", err, other)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	s.skip = ""
	if _, err := try(ctx); err == nil {
		t.Error("a run that is stopped is an error")
	}
}

// forget removes the result of a draw, as if the run had been stopped before it.
func forget(t *testing.T, name string) {
	t.Helper()
	var known results
	if err := known.read(name); err != nil {
		t.Fatal(err)
	}
	delete(known.Draws, 1)
	if err := known.write(name); err != nil {
		t.Fatal(err)
	}
}

// TestUnreadableResults checks that unreadable results are ignored.
func TestUnreadableResults(t *testing.T) {
	s := of("gappy")
	s.all, s.mutants, s.least, s.results = true, 4, 0, filepath.Join(t.TempDir(), "results.json")
	if err := os.WriteFile(s.results, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), new(strings.Builder), s); err != nil {
		t.Fatal(err)
	}
	var known results
	if err := known.read(s.results); err != nil || len(known.Draws) != 2 {
		t.Errorf("got %v, %v", known, err)
	}
}
