// Package natsproc runs NATS servers as processes that can be killed. The program
// that uses it is the server, too: it calls Main first.
package natsproc

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/moorage-dev/moorage/pkg/test/port"
)

// patience is how long a server may take until it listens.
const patience = 2 * time.Minute

// environment names the variable in which a process finds that it is a server.
const environment = "NATSPROC_NODE"

// A Node is a server of a cluster.
type Node struct {
	Name    string
	Port    int
	Route   int      // its port for other nodes; 0 if it is alone
	Routes  []string // of all nodes
	Dir     string
	process *exec.Cmd
	ranged  *port.Range // keeps the ports from others, also while the server is down
}

// Main is the server if this process is to be one, and does not return then.
func Main() {
	text := os.Getenv(environment)
	if text == "" {
		return
	}
	if err := serve(text); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serve(text string) error {
	var n Node
	if err := json.Unmarshal([]byte(text), &n); err != nil {
		return err
	}
	opts := &server.Options{ServerName: n.Name, Host: "127.0.0.1", Port: n.Port, JetStream: true, StoreDir: n.Dir, NoLog: true, NoSigs: true}
	if n.Route != 0 {
		opts.Cluster = server.ClusterOpts{Name: "store", Host: "127.0.0.1", Port: n.Route}
		opts.Routes = server.RoutesFromStr(strings.Join(n.Routes, ","))
	}
	srv, err := server.NewServer(opts)
	if err != nil {
		return err
	}
	srv.SetLogger(fatal{}, false, false)
	srv.Start()
	if !srv.ReadyForConnections(patience) {
		return fmt.Errorf("%s does not listen", n.Name)
	}
	if _, err := fmt.Println(n.Name, "listens"); err != nil { // see Start
		return err
	}
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, os.Interrupt)
	<-end
	srv.Shutdown()
	srv.WaitForShutdown()

	return nil
}

// fatal ends the process when its server cannot go on, which without a logger stays as it
// is, and says why.
type fatal struct{}

func (fatal) Fatalf(format string, v ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", v...)
	os.Exit(1)
}
func (fatal) Noticef(string, ...any) {}
func (fatal) Warnf(string, ...any)   {}
func (fatal) Errorf(string, ...any)  {}
func (fatal) Debugf(string, ...any)  {}
func (fatal) Tracef(string, ...any)  {}

// Cluster returns that many nodes below a folder, none of them started.
func Cluster(dir string, size int) ([]*Node, error) {
	ranged := port.NewRange()
	ports := make([]int, 2*size)
	for i := range ports {
		var err error
		if ports[i], err = ranged.Find(); err != nil {
			return nil, err
		}
	}
	nodes, routes := make([]*Node, size), make([]string, size)
	for i := range size {
		routes[i] = "nats-route://127.0.0.1:" + strconv.Itoa(ports[2*i+1])
	}
	for i := range size {
		name := "node" + strconv.Itoa(i+1)
		nodes[i] = &Node{Name: name, Port: ports[2*i], Dir: filepath.Join(dir, name), ranged: ranged}
		if size > 1 {
			nodes[i].Route, nodes[i].Routes = ports[2*i+1], routes
		}
	}

	return nodes, nil
}

// URL returns where clients connect.
func (n *Node) URL() string { return "nats://127.0.0.1:" + strconv.Itoa(n.Port) }

// Start starts the process and waits until it says that it listens: who answers at its port
// might be another one. The process ends with this one. It is an error if it ends before it
// listens.
func (n *Node) Start() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), environment+"="+string(text))
	cmd.Stderr = os.Stderr
	dieWithParent(cmd)
	told, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	late := time.AfterFunc(patience+time.Minute, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	if line, err := bufio.NewReader(told).ReadString('\n'); err != nil {
		return fmt.Errorf("%s said %q, and ended before it listened: %w", n.Name, line, errors.Join(err, cmd.Wait()))
	}
	n.process = cmd

	return nil
}

// Kill ends the process without letting it do anything first.
func (n *Node) Kill() error {
	if n.process == nil {
		return nil
	}
	if err := n.process.Process.Kill(); err != nil {
		return err
	}
	_ = n.process.Wait() // killed is what it should be
	n.process = nil

	return nil
}
