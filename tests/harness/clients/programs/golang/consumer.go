// What the consumers of Go's libraries share: commands in, events out, a JSON object a line, as
// kit/rota/clients/consumer_process.py says it. A library is told what to do by `library`.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"sync"

	"golang.org/x/sys/unix"
)

type partition struct {
	topic string
	index int32
}

func (p partition) MarshalJSON() ([]byte, error) { return json.Marshal([]any{p.topic, p.index}) }

func (p *partition) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&p.topic, &p.index})
}

type offsets map[partition]int64

type settings struct {
	Address        string `json:"address"`
	GroupID        string `json:"group_id"`
	ClientID       string `json:"client_id"`
	Assignor       string `json:"assignor"`
	Session        int    `json:"session_timeout_ms"`
	Heartbeat      int    `json:"heartbeat_interval_ms"`
	Reset          string `json:"auto_offset_reset"`
	CommitOnRevoke bool   `json:"commit_on_revoke"`
	InstanceID     string `json:"instance_id"`
}

type command struct {
	Do         string      `json:"do"`
	Topics     []string    `json:"topics"`
	Partitions []partition `json:"partitions"`
}

// A library's consumer. It calls the consumer's assigned, revoke and lost, and saw for each record, while `gate` is
// held: so nothing is seen of a partition that has been given up.
type library interface {
	membership() (generation int32, member string)
	subscribe(topics []string) error
	poll() error
	commit(offsets) error
	committed([]partition) (map[partition]*int64, error)
	close()
}

type consumer struct {
	settings  settings
	library   library
	gate      sync.Mutex
	lock      sync.Mutex
	positions offsets
	held      map[partition]bool
	view      string
	out       sync.Mutex
}

func monotonic() float64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err)
	}
	return float64(now.Nano()) / 1e9
}

func (c *consumer) emit(event string, more map[string]any) {
	generation, member := int32(-1), ""
	if event != "closed" && event != "started" {
		generation, member = c.library.membership()
	}
	c.emitAs(event, generation, member, more)
}

func (c *consumer) emitAs(event string, generation int32, member string, more map[string]any) {
	line := map[string]any{"event": event, "generation": generation, "member_id": member}
	for key, value := range more {
		line[key] = value
	}
	c.out.Lock()
	defer c.out.Unlock()
	line["t"] = monotonic()
	text, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(text))
}

func (c *consumer) fail(what string, err error) {
	c.emit("error", map[string]any{"what": what, "error": fmt.Sprintf("%T: %v", err, err)})
}

func sorted(partitions []partition) []partition {
	found := append([]partition{}, partitions...)
	sort.Slice(found, func(i, j int) bool {
		if found[i].topic != found[j].topic {
			return found[i].topic < found[j].topic
		}
		return found[i].index < found[j].index
	})
	return found
}

func listed(of offsets) []any {
	found := []any{}
	for at, offset := range of {
		found = append(found, []any{at.topic, at.index, offset})
	}
	return found
}

func (c *consumer) assigned(partitions []partition) {
	c.emit("assigned", map[string]any{"partitions": sorted(partitions)})
	c.lock.Lock()
	defer c.lock.Unlock()
	for _, each := range partitions {
		c.held[each] = true
	}
}

// The offsets to be committed before these partitions are given up.
func (c *consumer) due(partitions []partition) offsets {
	found := offsets{}
	if c.settings.CommitOnRevoke {
		c.lock.Lock()
		defer c.lock.Unlock()
		for _, each := range partitions {
			if offset, ok := c.positions[each]; ok {
				found[each] = offset
			}
		}
	}
	return found
}

func (c *consumer) revoke(partitions []partition) {
	if due := c.due(partitions); len(due) > 0 {
		if err := c.library.commit(due); err != nil {
			c.fail("commit on revoke", err)
		} else {
			c.emit("committed", map[string]any{"offsets": listed(due)})
		}
	}
	c.emit("revoked", map[string]any{"partitions": sorted(partitions)})
	c.forget(partitions)
}

func (c *consumer) lost(partitions []partition) {
	c.emit("lost", map[string]any{"partitions": sorted(partitions)})
	c.forget(partitions)
}

func (c *consumer) forget(partitions []partition) {
	c.lock.Lock()
	defer c.lock.Unlock()
	for _, each := range partitions {
		delete(c.held, each)
		delete(c.positions, each)
	}
}

func (c *consumer) holding() []partition {
	c.lock.Lock()
	defer c.lock.Unlock()
	found := []partition{}
	for each := range c.held {
		found = append(found, each)
	}
	return sorted(found)
}

// A record that was handed out.
func (c *consumer) saw(at partition, offset int64, value string) {
	c.lock.Lock()
	c.positions[at] = offset + 1
	c.lock.Unlock()
	c.emit("record", map[string]any{"partition": at, "offset": offset, "value": value})
}

func (c *consumer) look() {
	c.gate.Lock()
	defer c.gate.Unlock()
	generation, member := c.library.membership()
	held := c.holding()
	view := fmt.Sprint(generation, member, held)
	if view != c.view {
		c.view = view
		more := map[string]any{"owned": held, "library_owns": held}
		c.emitAs("view", generation, member, more)
	}
}

func (c *consumer) obey(given command) bool {
	var err error
	switch given.Do {
	case "subscribe":
		err = c.library.subscribe(given.Topics)
	case "commit":
		c.lock.Lock()
		all := offsets{}
		for at, offset := range c.positions {
			all[at] = offset
		}
		c.lock.Unlock()
		if err = c.library.commit(all); err == nil {
			c.emit("committed", map[string]any{"offsets": listed(all)})
		}
	case "committed":
		var found map[partition]*int64
		if found, err = c.library.committed(given.Partitions); err == nil {
			told := []any{}
			for at, offset := range found {
				told = append(told, []any{at.topic, at.index, offset})
			}
			c.emit("fetched", map[string]any{"offsets": told})
		}
	case "close":
		c.library.close()
		c.emit("closed", nil)
		return false
	default:
		err = fmt.Errorf("it does not know %q", given.Do)
	}
	if err != nil {
		c.fail(given.Do, err)
	}
	return true
}

func main() {
	c := &consumer{positions: offsets{}, held: map[partition]bool{}}
	if err := json.Unmarshal([]byte(os.Args[1]), &c.settings); err != nil {
		panic(err)
	}
	c.library = open(c)
	commands := make(chan command)
	go func() {
		lines := bufio.NewScanner(os.Stdin)
		for lines.Scan() {
			var given command
			if err := json.Unmarshal(lines.Bytes(), &given); err != nil {
				panic(err)
			}
			commands <- given
		}
		os.Exit(1)
	}()
	c.emit("started", nil)
	for {
		select {
		case given := <-commands:
			if !c.obey(given) {
				return
			}
		default:
			if err := c.library.poll(); err != nil {
				c.fail("poll", err)
			}
			c.look()
		}
	}
}
