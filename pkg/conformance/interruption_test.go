package conformance

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A lineServer stores volumes and answers each line of a client with a line. It cannot store the owner of a volume in
// the request that creates the volume.
type lineServer struct {
	listener net.Listener

	mu      sync.Mutex
	volumes map[string]lineVolume
	jobs    map[string]bool // names of volumes that jobs make
}

type lineVolume struct{ size, owner string }

func newLineServer(t *testing.T) *lineServer {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &lineServer{listener: l, volumes: map[string]lineVolume{}, jobs: map[string]bool{}}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(conn)
		}
	}()
	t.Cleanup(func() { _ = l.Close() })

	return s
}

func (s *lineServer) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		if _, err := fmt.Fprintln(conn, s.do(strings.Split(lines.Text(), " "))); err != nil {
			return
		}
	}
}

// do makes a request: GET name, MAKE name size, JOB name size owner, STAMP name owner, SIZE name size, RENAME name
// name, or DROP name. A JOB makes a volume after jobTime.
func (s *lineServer) do(words []string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	verb, name := words[0], words[1]
	v, exists := s.volumes[name]
	switch {
	case (verb == "MAKE" || verb == "JOB") && exists, verb == "JOB" && s.jobs[name]:
		return "TAKEN"
	case verb == "JOB":
		s.jobs[name] = true
		time.AfterFunc(jobTime, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.jobs, name)
			s.volumes[name] = lineVolume{words[2], words[3]}
		})
	case verb == "MAKE":
		s.volumes[name] = lineVolume{size: words[2]}
	case !exists:
		return "NONE"
	case verb == "GET":
		return "OK " + v.size + " " + v.owner
	case verb == "STAMP":
		s.volumes[name] = lineVolume{v.size, words[2]}
	case verb == "SIZE":
		s.volumes[name] = lineVolume{words[2], v.owner}
	case verb == "RENAME":
		if _, taken := s.volumes[words[2]]; taken {
			return "TAKEN"
		}
		s.volumes[words[2]] = v
		delete(s.volumes, name)
	case verb == "DROP":
		delete(s.volumes, name)
	}

	return "OK"
}

// A lineProbe reads and changes a lineServer without its client.
type lineProbe struct {
	*Proxy

	server *lineServer
}

func (p lineProbe) List(context.Context) ([]Resource, error) {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	var out []Resource
	for name, v := range p.server.volumes {
		out = append(out, Resource{ID: name, State: map[string]string{"size": v.size, "owner": v.owner}})
	}

	return out, nil
}

func (p lineProbe) Remove(_ context.Context, id string) error {
	p.server.do([]string{"DROP", id})

	return nil
}

func (p lineProbe) Make(_ context.Context, mg resource.Managed) (string, error) {
	p.server.do([]string{"MAKE", meta.GetExternalName(mg), "3"})

	return meta.GetExternalName(mg), nil
}

// A lineClient is a client of a lineServer. It creates a volume in several requests. Its fields are the defects.
type lineClient struct {
	address string

	twoSteps     bool // the owner is stored in a second request after the creation under the name
	blind        bool // and Create does not look first
	notCreated   bool // a broken connection in Create is taken for "nothing was created"
	ignoresEnd   bool // an Update waits for its answer for ever
	dropsCreate  bool // errors of Create are dropped
	dropsDelete  bool // errors of Delete are dropped
	dropsStamp   bool // the error of the second request is dropped
	reportsOwner func(managed.Owner) managed.Owner
	reportsError func(error) (managed.ExternalObservation, error) // of a second request of Observe

	mu   sync.Mutex
	conn net.Conn
}

// ask makes a request.
func (c *lineClient) ask(ctx context.Context, words ...string) ([]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if c.conn == nil {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", c.address)
		if err != nil {
			return nil, err
		}
		c.conn = conn
	}
	deadline, _ := ctx.Deadline() // the zero time is none
	_ = c.conn.SetDeadline(deadline)
	_, err := fmt.Fprintln(c.conn, strings.Join(words, " "))
	var line string
	if err == nil {
		line, err = bufio.NewReader(c.conn).ReadString('\n')
	}
	if err != nil {
		_ = c.conn.Close()
		c.conn = nil

		return nil, err
	}

	return strings.Split(strings.TrimSuffix(line, "\n"), " "), nil
}

func (c *lineClient) Connect(context.Context, resource.Managed) (managed.ExternalClient, error) {
	return c, nil
}

// unfinished is the name of a volume that is being created.
func unfinished(mg resource.Managed) string { return "unfinished-" + string(mg.GetUID()) }

func (c *lineClient) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	v := mg.(*volume.Volume) // of the kind
	answer, err := c.ask(ctx, "GET", meta.GetExternalName(mg))
	if err == nil && answer[0] == "NONE" && !c.twoSteps {
		answer, err = c.ask(ctx, "GET", unfinished(mg))
		if err == nil && answer[0] == "OK" {
			return managed.ExternalObservation{ResourceExists: true, Owner: managed.OwnerOurs}, nil
		}
	}
	if err != nil {
		return managed.ExternalObservation{}, external.Unavailable(err)
	}
	if answer[0] == "NONE" {
		return managed.ExternalObservation{}, nil
	}
	if c.reportsError != nil {
		if _, err := c.ask(ctx, "GET", meta.GetExternalName(mg)); err != nil {
			return c.reportsError(err)
		}
	}
	v.SetConditions(commonv1.Available())
	owner := managed.Stamp(mg.GetUID()).Owner(answer[2])
	if c.reportsOwner != nil {
		owner = c.reportsOwner(owner)
	}

	return managed.ExternalObservation{
		ResourceExists: true, Owner: owner, ResourceUpToDate: answer[1] == strconv.FormatInt(v.Spec.SizeGiB, 10),
	}, nil
}

func (c *lineClient) Create(ctx context.Context, mg resource.Managed) error {
	v := mg.(*volume.Volume) // of the kind
	err := c.create(ctx, mg, strconv.FormatInt(v.Spec.SizeGiB, 10))
	switch {
	case c.dropsCreate && !external.IsAlreadyExists(err):
		return nil
	case err != nil && c.notCreated && !external.IsAlreadyExists(err):
		return external.NotCreated(err)
	default:
		return err
	}
}

var errTaken = errors.New("the name is taken")

func (c *lineClient) create(ctx context.Context, mg resource.Managed, size string) error {
	if c.twoSteps {
		return c.createThenStamp(ctx, mg, size)
	}
	if answer, err := c.ask(ctx, "GET", meta.GetExternalName(mg)); err != nil || answer[0] != "NONE" {
		return taken(answer, err)
	}
	if _, err := c.ask(ctx, "MAKE", unfinished(mg), size); err != nil {
		return err
	}

	return c.finish(ctx, mg)
}

// taken returns the error of a request whose answer is not OK.
func taken(answer []string, err error) error {
	if err != nil {
		return err
	}

	return external.AlreadyExists(errors.Wrap(errTaken, answer[0]))
}

// finish stores the owner of an unfinished volume, and gives the volume its name.
func (c *lineClient) finish(ctx context.Context, mg resource.Managed) error {
	if _, err := c.ask(ctx, "STAMP", unfinished(mg), string(mg.GetUID())); err != nil {
		return err
	}
	answer, err := c.ask(ctx, "RENAME", unfinished(mg), meta.GetExternalName(mg))
	if err == nil && answer[0] == "TAKEN" {
		_, _ = c.ask(ctx, "DROP", unfinished(mg))
	}
	if err != nil || answer[0] != "OK" {
		return taken(answer, err)
	}

	return nil
}

// createThenStamp creates a volume under its name, and stores the owner after that.
func (c *lineClient) createThenStamp(ctx context.Context, mg resource.Managed, size string) error {
	name := meta.GetExternalName(mg)
	if !c.blind {
		if answer, err := c.ask(ctx, "GET", name); err != nil || answer[0] != "NONE" {
			return taken(answer, err)
		}
	}
	if answer, err := c.ask(ctx, "MAKE", name, size); err != nil || answer[0] != "OK" {
		return taken(answer, err)
	}
	_, err := c.ask(ctx, "STAMP", name, string(mg.GetUID()))
	if c.dropsStamp {
		return nil
	}

	return err
}

func (c *lineClient) Update(ctx context.Context, mg resource.Managed) error {
	v := mg.(*volume.Volume) // of the kind
	if c.ignoresEnd {
		ctx = context.WithoutCancel(ctx)
	}
	answer, err := c.ask(ctx, "GET", meta.GetExternalName(mg))
	if err == nil && answer[0] == "NONE" {
		err = c.finish(ctx, mg)
	}
	if err == nil {
		_, err = c.ask(ctx, "SIZE", meta.GetExternalName(mg), strconv.FormatInt(v.Spec.SizeGiB, 10))
	}

	return err
}

func (c *lineClient) Delete(ctx context.Context, mg resource.Managed) error {
	_, err := c.ask(ctx, "DROP", meta.GetExternalName(mg))
	if err == nil {
		_, err = c.ask(ctx, "DROP", unfinished(mg))
	}
	if c.dropsDelete {
		return nil
	}

	return err
}

// lineSuite returns the suite of a client whose server is behind a FaultProxy.
func lineSuite(t *testing.T, defect func(*lineClient)) Suite {
	t.Helper()
	server := newLineServer(t)
	proxy := FaultProxy(t, server.listener.Addr().String())

	return Suite{
		Kind: volume.Kind, Scheme: scheme(), Class: Named, Samples: []resource.Managed{sample("vol"), sample("vol-2")},
		NewConnecter: func() managed.ExternalConnecter {
			c := &lineClient{address: proxy.Address()}
			defect(c)

			return c
		},
		Mutations: []Mutation{{
			Name: "grow", Change: func(mg resource.Managed) { mg.(*volume.Volume).Spec.SizeGiB = 20 },
			Want: map[string]string{"size": "20"},
		}},
		Probe: lineProbe{proxy, server}, CallTimeout: 2 * time.Second, Within: time.Minute,
	}
}

// TestTwoRequestCreate: a Create of several requests that survives an interruption after each of them passes, with all
// faults of the suite.
func TestTwoRequestCreate(t *testing.T) {
	s := lineSuite(t, func(*lineClient) {})
	s.Within = 10 * time.Second
	k := examine(t, s)
	for _, f := range k.findings.list {
		t.Error(f)
	}
	if got := k.ledger.wire.most["Create"]; got != 4 {
		t.Errorf("%d requests of Create are known instead of 4", got)
	}
}

// TestInterrupted: defects that show between the requests of one call are found, and the message says how.
func TestInterrupted(t *testing.T) {
	cases := map[string]struct {
		reason   string
		defect   func(*lineClient)
		property string
		says     string
		replay   string // part of the schedule; empty if it is found by a direct call
	}{
		"StampsLater": {"planted bug 8: the process dies between creation and stamp",
			func(c *lineClient) { c.twoSteps = true }, "converges", "vol", "Create#1:answer-lost-2"},
		"StampsLaterBlind": {"planted bug 8b: and Create does not look first",
			func(c *lineClient) { c.twoSteps, c.blind = true, true }, "converges", "vol", "Create#1:answer-lost-1"},
		"NotCreatedOnBrokenConnection": {"planted bug 11: the connection broke after something was made",
			func(c *lineClient) { c.notCreated = true }, "refusal-is-true", "request 2 is lost", ""},
		"IgnoresContext": {"planted bug 15: a request without the context of the call",
			func(c *lineClient) { c.ignoresEnd = true }, "calls-return",
			"while the answer to its request 1 does not come", ""},
		"DropsErrorsOfCreate": {"planted bug 16: Create fails, and nobody hears of it",
			func(c *lineClient) { c.dropsCreate = true }, "refused-is-told", "Create of another object returns no error", ""},
		"SecondReadIsAbsence": {"the error of the second request of Observe is taken for absence",
			func(c *lineClient) {
				c.reportsError = func(error) (managed.ExternalObservation, error) { return managed.ExternalObservation{}, nil }
			}, "unknown-is-not-absent", "answer to its request 2 is lost", ""},
		"SecondReadIsDrift": {"a login that breaks is taken for a wrong password",
			func(c *lineClient) {
				c.reportsError = func(error) (managed.ExternalObservation, error) {
					return managed.ExternalObservation{ResourceExists: true, Owner: managed.OwnerOurs}, nil
				}
			}, "observe-is-stable", "answer to its request 2 is lost", ""},
		"DropsErrorsOfDelete": {"planted bug 17: Delete fails, and nobody hears of it",
			func(c *lineClient) { c.dropsDelete = true }, "refused-is-told", "Delete of vol returns no error", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			k := examine(t, lineSuite(t, c.defect))
			if !k.findings.says(c.property, c.says) {
				t.Errorf("%s: %s with %q is not found, but %v", c.reason, c.property, c.says, k.findings.list)
			}
			if !slices.ContainsFunc(k.findings.list, func(f finding) bool {
				return f.property == c.property && strings.Contains(f.replay, c.replay)
			}) {
				t.Errorf("%s: no schedule has %q: %v", c.reason, c.replay, k.findings.list)
			}
		})
	}
}

// TestReplayOfCut: the schedule of an interrupted call can be replayed.
func TestReplayOfCut(t *testing.T) {
	s := lineSuite(t, func(c *lineClient) { c.twoSteps = true })
	s.Replay = "create/vol Create#1:crash-after Create#1:answer-lost-2"
	k := examine(t, s)
	if !k.findings.has("converges") || k.schedulesRun != 1 {
		t.Errorf("%d schedules found %v", k.schedulesRun, k.findings.list)
	}
}

// TestParseCut: the text of a cut is read as it is written.
func TestParseCut(t *testing.T) {
	for _, c := range []cut{{callAt{"Create", 1}, 2, false}, {callAt{"Delete", 12}, 3, true}} {
		got, rest, err := parseCut("create/vol " + c.String() + " Create#1:crash-after")
		if err != nil || got == nil || *got != c || rest != "create/vol Create#1:crash-after" {
			t.Errorf("%s is read as %v, %q, %v", c, got, rest, err)
		}
	}
	for _, text := range []string{"Create#1:answer-lost-0", "Create#1:request-lost-1", "Create:answer-lost-1",
		"Create#1:answer-lost-x"} {
		if _, _, err := parseCut(text); err == nil || !strings.Contains(err.Error(), "operation#n:") {
			t.Errorf("%s: the error is %v", text, err)
		}
	}
	if got, rest, err := parseCut("create/vol get#2:crash"); got != nil || err != nil || rest != "create/vol get#2:crash" {
		t.Errorf("without a cut: %v, %q, %v", got, rest, err)
	}
}

// TestCutSchedules: each exchange of a call is a boundary, for a process that dies and for one that goes on.
func TestCutSchedules(t *testing.T) {
	var got []string
	for _, s := range cutSchedules(callAt{"Create", 1}, 2) {
		got = append(got, fmt.Sprint(s.cut, " ", s.faults))
	}
	want := []string{
		"Create#1:answer-lost-1 [Create#1:crash-after]", "Create#1:answer-lost-1 []",
		"Create#1:answer-lost-2 [Create#1:crash-after]", "Create#1:answer-lost-2 []", "Create#1:request-lost-2 []",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A lateClient returns from Create, and sends the rest of it after that. It is wrong, but its Observe is not.
type lateClient struct {
	*lineClient

	probe *lateProbe
}

func (c *lateClient) Connect(context.Context, resource.Managed) (managed.ExternalClient, error) {
	return c, nil
}

func (c *lateClient) Create(ctx context.Context, mg resource.Managed) error {
	c.probe.late = func() {
		_, _ = (&lineClient{address: c.address}).ask(context.Background(), "SIZE", meta.GetExternalName(mg), "7")
	}

	return c.lineClient.Create(ctx, mg)
}

// A lateProbe lets a lateClient send after the probe has listed what Create has made.
type lateProbe struct {
	lineProbe

	late func()
}

func (p *lateProbe) List(ctx context.Context) ([]Resource, error) {
	out, err := p.lineProbe.List(ctx)
	if late := p.late; late != nil {
		p.late = nil
		late()
	}

	return out, err
}

// TestRequestOutlivesCall: what a request of an earlier call changes is not blamed on the call that is made after it.
func TestRequestOutlivesCall(t *testing.T) {
	s := lineSuite(t, func(*lineClient) {})
	inner := s.NewConnecter
	probe := &lateProbe{lineProbe: s.Probe.(lineProbe)} // of lineSuite
	s.Within, s.Probe, s.NewConnecter = time.Nanosecond, probe, func() managed.ExternalConnecter {
		return &lateClient{inner().(*lineClient), probe} // of lineSuite
	}
	for _, f := range examine(t, s).findings.list {
		if f.property == "observe-never-writes" {
			t.Errorf("Observe is blamed for what Create has sent: %s", f)
		}
	}
}

// TestAnswerOfEarlierRequest: the answer to a request that began before an interruption is not its first exchange.
func TestAnswerOfEarlierRequest(t *testing.T) {
	p := &Proxy{links: map[*link]bool{}}
	early, next := &link{}, &link{}
	p.links[early], p.links[next] = true, true
	p.request(early)
	if _, err := p.Interrupt(t.Context(), Interruption{Exchange: 1, Hang: true}); err != nil {
		t.Fatal(err)
	}
	if !p.pending() || !p.answer(early) || p.pending() || p.Exchanges() != 1 {
		t.Error("the answer to the earlier request does not pass")
	}
	if p.request(next); p.answer(next) {
		t.Error("the answer to the first request passes")
	}
}
