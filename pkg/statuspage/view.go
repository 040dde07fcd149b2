package statuspage

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/difference"
	"github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A frame is what all pages have.
type frame struct {
	Title, Provider, Version string // of the provider
	Revision                 string // of the fleet
	At                       moment
	Role                     string
}

// An overview is the content of the first page.
type overview struct {
	frame

	Kinds       []kindView
	States      []string
	Query       query
	Text, State string // of the filter
	Objects     []objectView
	From, To    int // of the objects, from 1
	Total       int
	Before      string // link to the page before; empty: none
	After       string
	Waiting     []waitView
	Connections []connectionView
	MoreConns   int
	Changes     []changeView
	Classes     []string
}

// A kindView is a row of the kinds, and of the queues.
type kindView struct {
	Name, Problem string
	Total         int
	Counts        []countView
	Queue         []classView
	Working       int
	Queued        bool
}

// A countView is the number of objects in a state, with a link to them.
type countView struct {
	State string
	N     int
	Link  string
}

// A classView is a class of a queue.
type classView struct{ Due, Later int }

// An objectView is an object in a list.
type objectView struct {
	State, Kind, Namespace, Name string
	UID                          types.UID
	Reason, Message              string
	Differences                  []commonv1.Difference
	More                         int
	Why                          string
	Since, Next                  moment
}

// A waitView is a group of objects that wait for the same.
type waitView struct {
	Reason, Connection string
	N                  int
	Example            string
}

// A connectionView is a connection with its limits.
type connectionView struct {
	limit.State

	RateText string
	Paused   moment
	Open     bool
}

// A changeView is a change of an external resource.
type changeView struct {
	change

	At     moment
	Fields string
}

// A detail is the content of the page of one object.
type detail struct {
	frame
	objectView

	Found                    bool
	ExternalName, Connection string
	Created                  moment
	Deleted                  bool
	Conditions               []conditionView
	Changes                  []changeView
}

// A conditionView is a condition of an object.
type conditionView struct {
	Type, Status, Reason, Message string
	Since                         moment
}

// A moment is a time as the page shows it. The zero value is none.
type moment struct{ time.Time }

// Text is the time for people.
func (m moment) Text() string { return m.UTC().Format("2006-01-02 15:04:05 UTC") }

// Machine is the time for programs.
func (m moment) Machine() string { return m.UTC().Format(time.RFC3339) }

// shown returns a text without secrets, in one line, and bounded.
func shown(s string) string { return strings.Join(strings.Fields(redact.Long(s, maxText)), " ") }

func (s *server) frameOf(f *fleet, title string) frame {
	return frame{
		Title: title, Provider: shown(s.options.Provider), Version: shown(s.options.Version), Revision: f.version,
		At: moment{f.at}, Role: f.leadership.text(),
	}
}

// text says which process is the leader.
func (l leadership) text() string {
	switch {
	case !l.standby && l.elects:
		return "This process is the leader."
	case !l.standby:
		return "There is no leader election: this process reconciles."
	case l.leader != "":
		return "This process is on standby and reconciles nothing. The leader is " + shown(l.leader) + "."
	default:
		return "This process is on standby and reconciles nothing. The leader is not known yet."
	}
}

// overviewOf returns the first page.
func (s *server) overviewOf(f *fleet, q query) overview {
	v := overview{
		frame: s.frameOf(f, "Status"), States: append([]string{allStates}, stateNames[:]...), Query: q, Text: shown(q.text),
		State: q.state, Classes: classNames[:],
	}
	for _, k := range f.kinds {
		v.Kinds = append(v.Kinds, kindOf(k))
	}
	first, last := (q.page-1)*pageSize, q.page*pageSize
	for _, o := range f.objects {
		if !q.matches(f, o) {
			continue
		}
		if v.Total >= first && v.Total < last {
			v.Objects = append(v.Objects, f.objectOf(o))
		}
		v.Total++
	}
	if len(v.Objects) > 0 {
		v.From, v.To = first+1, first+len(v.Objects)
	}
	if q.page > 1 {
		v.Before = q.link(min(q.page-1, max(1, (v.Total+pageSize-1)/pageSize)))
	}
	if v.Total > last {
		v.After = q.link(q.page + 1)
	}
	v.Waiting = f.waitingGroups()
	for _, c := range f.connections[:min(len(f.connections), maxConnections)] {
		v.Connections = append(v.Connections, connectionOf(c))
	}
	v.MoreConns = len(f.connections) - len(v.Connections)
	v.Changes = changesOf(f.changes, "")

	return v
}

// classNames are the names of the classes of a queue.
var classNames = [...]string{"Change", "In progress", "Retry", "Poll"}

// classPriorities are the least priorities of the classes, except for the last.
var classPriorities = [...]int{
	controller.PriorityUser, controller.PriorityInProgress, controller.PriorityErrorRetry,
}

func kindOf(k kind) kindView {
	v := kindView{Name: shown(k.name), Problem: k.problem, Working: k.working, Queued: k.queue != nil}
	for s, n := range k.counts {
		v.Total += n
		link := query{text: strings.ToLower(v.Name), state: state(s).String(), page: 1}.link(1)
		v.Counts = append(v.Counts, countView{state(s).String(), n, link})
	}
	v.Queue = make([]classView, len(classNames))
	for _, class := range k.queue {
		i := 0
		for i < len(classPriorities) && class.Priority < classPriorities[i] {
			i++
		}
		v.Queue[i].Due += class.Due
		v.Queue[i].Later += class.Later
	}

	return v
}

// objectOf returns an object as a list shows it.
func (f *fleet) objectOf(o object) objectView {
	k := f.kinds[o.kind]
	v := objectView{
		State: o.state.String(), Kind: shown(k.name), Namespace: shown(o.mg.GetNamespace()), Name: shown(o.mg.GetName()),
		UID: o.mg.GetUID(), Reason: shown(string(o.cause.Reason)), Message: shown(o.cause.Message),
		Since: moment{since(o.mg, o.cause)},
	}
	if r, ok := o.mg.(resource.DriftReporter); ok && r.GetDrift() != nil {
		d := r.GetDrift()
		v.Differences, v.More = difference.Clean(d.Fields, nil)
		v.More += int(d.More)
	}
	if k.inspection == nil {
		return v
	}
	if last, ok := k.inspection.LastPass(o.mg); ok {
		v.Why = last.Action + ": " + shown(last.Because)
	}
	if at, ok := k.inspection.NextReconcile(o.mg); ok {
		v.Next = moment{at}
	}

	return v
}

// waitingGroups returns the groups of objects that wait, the largest first.
func (f *fleet) waitingGroups() []waitView {
	type group struct{ reason, connection string }
	n := map[group]int{}
	first := map[group]object{}
	for _, o := range f.objects {
		if o.state != waiting {
			continue
		}
		g := group{string(o.cause.Reason), connectionName(o.mg)}
		if n[g]++; n[g] == 1 {
			first[g] = o
		}
	}
	var out []waitView
	for g, count := range n {
		out = append(out, waitView{shown(g.reason), shown(g.connection), count, shown(first[g].cause.Message)})
	}
	slices.SortFunc(out, func(a, b waitView) int {
		return cmp.Or(cmp.Compare(b.N, a.N), strings.Compare(a.Reason, b.Reason),
			strings.Compare(a.Connection, b.Connection))
	})

	return out[:min(len(out), maxGroups)]
}

// connectionName names the configuration of an object. It is empty if there is none.
func connectionName(mg resource.Managed) string {
	r, ok := mg.(resource.ProviderConfigReferencer)
	if !ok || r.GetProviderConfigReference() == nil {
		return ""
	}

	return r.GetProviderConfigReference().Kind + "/" + r.GetProviderConfigReference().Name
}

func connectionOf(s limit.State) connectionView {
	v := connectionView{State: s, RateText: fmt.Sprintf("%.4g", s.Rate), Paused: moment{s.Resume}, Open: s.Open()}
	v.Name, v.Message, v.Scope = shown(s.Name), shown(s.Message), shown(s.Scope)

	return v
}

// changesOf returns the changes of one object, or all, the newest first.
func changesOf(changes []change, of types.UID) []changeView {
	var out []changeView
	for _, c := range slices.Backward(changes) {
		if of != "" && c.Object.UID != of {
			continue
		}
		var paths []string
		for _, d := range c.Differences {
			paths = append(paths, d.Path)
		}
		out = append(out, changeView{c, moment{c.Time}, strings.Join(paths, ", ")})
	}

	return out
}

// detailOf returns the page of an object.
func (s *server) detailOf(f *fleet, uid types.UID) detail {
	v := detail{frame: s.frameOf(f, "Object"), Changes: changesOf(f.changes, uid)}
	i, ok := f.byUID[uid]
	if !ok {
		return v
	}
	o := f.objects[i]
	v.objectView, v.Found = f.objectOf(o), true
	v.Title = v.Kind + " " + v.Namespace + "/" + v.Name
	v.ExternalName, v.Connection = shown(meta.GetExternalName(o.mg)), shown(connectionName(o.mg))
	v.Created, v.Deleted = moment{o.mg.GetCreationTimestamp().Time}, o.mg.GetDeletionTimestamp() != nil
	for _, t := range []commonv1.ConditionType{
		commonv1.TypeReady, commonv1.TypeSynced, commonv1.TypeUpToDate, commonv1.TypeCreated, commonv1.TypeReconciling,
		commonv1.TypeStalled,
	} {
		if c := o.mg.GetCondition(t); c.Status != "" && c.Reason != "" {
			v.Conditions = append(v.Conditions, conditionView{string(t), string(c.Status), shown(string(c.Reason)),
				shown(c.Message), moment{c.LastTransitionTime.Time}})
		}
	}

	return v
}
