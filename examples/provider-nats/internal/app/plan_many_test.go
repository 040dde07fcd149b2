package app_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/examples/provider-nats/internal/natstest"
	"github.com/moorage-dev/moorage/pkg/plan"
)

var manyStreams = flag.Int("many-streams", 10_000, "how many streams TestPlanOfMany has")

// calls is the end of the line of a plan with the calls to NATS.
var calls = regexp.MustCompile(`with (\d+) calls? to list and (\d+) to look\.`)

// advisories counts the changes of streams and consumers of which NATS sends advisories.
func (p *planned) advisories() *atomic.Int64 {
	p.Helper()

	changes, nc := &atomic.Int64{}, natstest.Connect(p.T, p.nats, nats.UserInfo("provider", "p"))
	for _, subject := range []string{"$JS.EVENT.ADVISORY.STREAM.>", "$JS.EVENT.ADVISORY.CONSUMER.>"} {
		_, err := nc.Subscribe(subject, func(*nats.Msg) { changes.Add(1) })
		p.must(err)
	}

	p.must(nc.Flush())
	p.Cleanup(nc.Close)

	return changes
}

// TestPlanOfMany: of thousands of streams, a user that may only read sees exactly those that differ, by few calls.
func TestPlanOfMany(t *testing.T) {
	p := newPlanned(t)

	var all []client.Object
	for i := range *manyStreams {
		all = append(all, p.stream(fmt.Sprintf("s%05d", i)))
	}

	p.provide(all)
	p.logIn(reading, "r")

	const differ = 7

	want := map[string]bool{}

	for i := range differ {
		name := all[i*(*manyStreams/differ)].GetName()
		want[name] = true

		p.tamper(name, func(cfg *jetstream.StreamConfig) { cfg.MaxAge = 72 * time.Hour })
	}

	before, changes := p.fingerprints(), p.advisories()
	began := time.Now()
	code, out, errs := p.run()
	took := time.Since(began)

	found := 0

	for name, row := range rows(out) {
		if !want[name] || !strings.HasPrefix(row, "Update") || !strings.Contains(row, `maxAge "1h0m0s" <- "72h0m0s"`) {
			t.Errorf("%s: %s", name, row)
		}

		found++
	}

	made := calls.FindStringSubmatch(out)
	if code != plan.ExitChanges || made == nil || made[2] != strconv.Itoa(differ) || errs != "" {
		t.Fatalf("exit code %d\n%s%s", code, out, errs)
	}

	p.unwritten(before)

	if n := changes.Load(); n > 0 {
		t.Errorf("%d changes in NATS", n)
	}

	fmt.Printf("planned_streams: %d\nstreams_that_differ: %d\ncalls_to_list: %s\nseconds_of_a_plan: %.1f\nwrites: %d\n",
		len(all), found, made[1], took.Seconds(), changes.Load())

	p.anotherDefault(len(all))
}

// anotherDefault plans with a build of the provider that has another default, as after an upgrade.
func (p *planned) anotherDefault(streams int) {
	p.Helper()

	const statement = "	put(&cfg.MaxMsgs, p.MaxMsgs)\n"

	source, err := filepath.Abs("../jsconfig/stream.go")
	p.must(err)

	content, err := os.ReadFile(source)
	p.must(err)

	changed := strings.Replace(string(content), statement, "	cfg.MaxMsgs = 9\n"+statement, 1)
	if changed == string(content) {
		p.Fatalf("%s does not have %q", source, statement)
	}

	dir := p.TempDir()
	replaced, overlay := filepath.Join(dir, "stream.go"), filepath.Join(dir, "overlay")
	program := filepath.Join(dir, "other")
	image, err := json.Marshal(map[string]any{"Replace": map[string]string{source: replaced}})
	p.must(err)
	p.must(os.WriteFile(replaced, []byte(changed), 0o600))
	p.must(os.WriteFile(overlay, image, 0o600))

	build := exec.CommandContext(p.Context(), "go", "build", "-overlay", overlay, "-o", program, ".")
	build.Dir = "../.."

	if out, err := build.CombinedOutput(); err != nil {
		p.Fatalf("%v: %s", err, out)
	}

	out, err := exec.CommandContext(p.Context(), program, "plan", "--kubeconfig", p.kubeconfig).Output()
	if got := rows(string(out)); len(got) != streams || !strings.Contains(got["s00001"], "maxMsgs 9 <- -1") {
		p.Errorf("a build with another default: %d rows, %v\n%.1000s", len(got), err, out)
	}
}
