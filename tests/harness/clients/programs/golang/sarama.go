// A consumer of sarama. It is told of partitions by claims, each in a goroutine of its own.
package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

type saramaLibrary struct {
	consumer *consumer
	client   sarama.Client
	group    sarama.ConsumerGroup
	end      context.CancelFunc
	over     sync.WaitGroup
	lock     sync.Mutex
	session  sarama.ConsumerGroupSession
}

func open(c *consumer) library { return &saramaLibrary{consumer: c} }

var strategies = map[string]func() sarama.BalanceStrategy{
	"range":              sarama.NewBalanceStrategyRange,
	"roundrobin":         sarama.NewBalanceStrategyRoundRobin,
	"cooperative-sticky": sarama.NewBalanceStrategyCooperativeSticky,
}

func (l *saramaLibrary) subscribe(topics []string) error {
	s := l.consumer.settings
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	config.ClientID = s.ClientID
	config.Consumer.Return.Errors = true
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.MaxWaitTime = 100 * time.Millisecond
	config.Consumer.Group.Session.Timeout = time.Duration(s.Session) * time.Millisecond
	config.Consumer.Group.Heartbeat.Interval = time.Duration(s.Heartbeat) * time.Millisecond
	config.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{strategies[s.Assignor]()}
	config.Consumer.Group.InstanceId = s.InstanceID
	var err error
	if l.client, err = sarama.NewClient([]string{s.Address}, config); err != nil {
		return err
	}
	if l.group, err = sarama.NewConsumerGroupFromClient(s.GroupID, l.client); err != nil {
		return err
	}
	lasting, end := context.WithCancel(context.Background())
	l.end = end
	l.over.Add(1)
	go func() {
		defer l.over.Done()
		for lasting.Err() == nil {
			if err := l.group.Consume(lasting, topics, l); err != nil && lasting.Err() == nil {
				l.consumer.fail("consume", err)
				time.Sleep(100 * time.Millisecond)
			}
		}
	}()
	return nil
}

func (l *saramaLibrary) now(session sarama.ConsumerGroupSession) {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.session = session
}

func (l *saramaLibrary) Setup(session sarama.ConsumerGroupSession) error {
	l.now(session)
	return nil
}

func (l *saramaLibrary) Cleanup(sarama.ConsumerGroupSession) error {
	l.now(nil)
	return nil
}

func (l *saramaLibrary) ConsumeClaim(_ sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	at := partition{claim.Topic(), claim.Partition()}
	c := l.consumer
	c.gate.Lock()
	c.assigned([]partition{at})
	c.gate.Unlock()
	for message := range claim.Messages() {
		c.gate.Lock()
		c.saw(at, message.Offset, string(message.Value))
		c.gate.Unlock()
	}
	c.gate.Lock()
	defer c.gate.Unlock()
	c.revoke([]partition{at})
	return nil
}

func (l *saramaLibrary) membership() (int32, string) {
	l.lock.Lock()
	defer l.lock.Unlock()
	if l.session == nil {
		return -1, ""
	}
	return l.session.GenerationID(), l.session.MemberID()
}

func (l *saramaLibrary) poll() error {
	time.Sleep(20 * time.Millisecond)
	if l.group == nil {
		return nil
	}
	select {
	case err := <-l.group.Errors():
		return err
	default:
		return nil
	}
}

func (l *saramaLibrary) commit(of offsets) error {
	l.lock.Lock()
	session := l.session
	l.lock.Unlock()
	if session == nil {
		return fmt.Errorf("there is no session")
	}
	for at, offset := range of {
		session.MarkOffset(at.topic, at.index, offset, "")
	}
	session.Commit()
	return nil
}

func (l *saramaLibrary) committed(of []partition) (map[partition]*int64, error) {
	admin, err := sarama.NewClusterAdmin(strings.Split(l.consumer.settings.Address, ","), l.client.Config())
	if err != nil {
		return nil, err
	}
	defer admin.Close()
	asked := map[string][]int32{}
	for _, at := range of {
		asked[at.topic] = append(asked[at.topic], at.index)
	}
	answer, err := admin.ListConsumerGroupOffsets(l.consumer.settings.GroupID, asked)
	if err != nil {
		return nil, err
	}
	found := map[partition]*int64{}
	for _, at := range of {
		found[at] = nil
		if block := answer.GetBlock(at.topic, at.index); block != nil && block.Offset >= 0 {
			found[at] = &block.Offset
		}
	}
	return found, nil
}

func (l *saramaLibrary) close() {
	if l.group == nil {
		return
	}
	l.end()
	l.over.Wait()
	if err := l.group.Close(); err != nil {
		l.consumer.fail("close", err)
	}
	l.client.Close()
}
